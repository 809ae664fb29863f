module github.com/tierway/tierway/sdk/go

go 1.19
