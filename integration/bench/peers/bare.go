package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/golang-jwt/jwt/v5"
)

// record is an object of the bare services.
type record struct {
	ID     string `json:"id" bson:"_id"`
	Name   string `json:"name" bson:"name"`
	Code   string `json:"code" bson:"code"`
	Amount int64  `json:"amount" bson:"amount"`
	Note   string `json:"note" bson:"note"`
	Folder string `json:"folder" bson:"folder"`

	FolderName string `json:"folderName,omitempty" bson:"-"`
}

// bareStore is the calls of a driver and nothing else.
type bareStore interface {
	get(ctx context.Context, id string) (record, error)
	list(ctx context.Context, folder string) (page []record, total int64, err error)
	create(ctx context.Context, records []record) error
	folders(ctx context.Context, records []record) error
}

// serveBare is the limit of what a service could reach on the same machine: a handler
// of Gin with the calls of the driver. It knows no rules, types or history. On SQLite,
// it verifies the same kind of signature as Marquee.
func serveBare(ctx context.Context, kind, address, where string) error {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/ready", func(c *gin.Context) { c.Status(http.StatusOK) })
	verify, err := issueTokens(router)
	if err != nil {
		return err
	}
	var store bareStore
	switch kind {
	case "sqlite":
		router.Use(verify)
		store, err = openBareSQLite(ctx, where)
	case "mongodb":
		store, err = openBareMongoDB(ctx, where)
	default:
		err = fmt.Errorf("there is no bare service for %q", kind)
	}
	if err != nil {
		return err
	}
	route(router, store)
	server := &http.Server{Addr: address, Handler: router, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = server.Close() // the process ends
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func route(router *gin.Engine, store bareStore) {
	router.GET("/items/:id", func(c *gin.Context) {
		found, err := store.get(c, c.Param("id"))
		answer(c, found, err)
	})
	router.GET("/items", func(c *gin.Context) {
		page, total, err := store.list(c, c.Query("folder"))
		answer(c, gin.H{"results": page, "total": total}, err)
	})
	router.POST("/items", func(c *gin.Context) { receive(c, store.create) })
	router.POST("/folders", func(c *gin.Context) { receive(c, store.folders) })
}

// receive stores the array of the body and answers with it.
func receive(c *gin.Context, create func(ctx context.Context, records []record) error) {
	var records []record
	if err := c.ShouldBindJSON(&records); err != nil {
		c.String(http.StatusBadRequest, "%v", err)
		return
	}
	for i := range records {
		if records[i].ID == "" {
			records[i].ID = rand.Text()
		}
	}
	answer(c, records, create(c, records))
}

func answer(c *gin.Context, value any, err error) {
	if err != nil {
		c.String(http.StatusInternalServerError, "%v", err)
		return
	}
	c.JSON(http.StatusOK, value)
}

// issueTokens adds a route that issues a token, and returns a handler that refuses
// requests without one.
func issueTokens(router *gin.Engine) (verify gin.HandlerFunc, err error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithExpirationRequired())
	router.POST("/token", func(c *gin.Context) {
		claims := jwt.RegisteredClaims{Subject: "user", ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour))}
		text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(private)
		answer(c, gin.H{"token": text}, err)
	})
	return func(c *gin.Context) {
		var claims jwt.RegisteredClaims
		text := strings.TrimPrefix(c.GetHeader("Authorization"), "Bearer ")
		if _, err := parser.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) { return public, nil }); err != nil {
			c.AbortWithStatus(http.StatusUnauthorized)
		}
	}, nil
}
