package mongo

import _ "github.com/testcontainers/testcontainers-go"
