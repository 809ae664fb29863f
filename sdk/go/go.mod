module tierway.example/go

go 1.19
