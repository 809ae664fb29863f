module tierway

go 1.19
