package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"marquee/resources/article"
	"marquee/resources/articlesearch"
)

// embeddingsFlags are the settings of a service that makes vectors of texts.
type embeddingsFlags struct {
	EmbeddingsURL     string        `name:"embeddings-url" help:"URL of an embeddings service, which /v1/embeddings follows, for the search for articles; without it, words are compared." placeholder:"URL"`
	EmbeddingsModel   string        `help:"Model of the embeddings service." placeholder:"NAME"`
	EmbeddingsKey     string        `help:"Key of the embeddings service, sent as a bearer token." placeholder:"KEY"`
	EmbeddingsKeyFile string        `help:"File with that key." placeholder:"FILE"`
	EmbeddingsTimeout time.Duration `default:"10s" help:"How long a call of the embeddings service may take."`
}

// use has the embeddings service make the vectors, if there is one. What is told
// of an error never holds the key.
func (f *embeddingsFlags) use(search *articlesearch.Search) error {
	if f.EmbeddingsURL == "" {
		if f.EmbeddingsModel != "" || f.EmbeddingsKey != "" || f.EmbeddingsKeyFile != "" {
			return errors.New("the settings of an embeddings service need its --embeddings-url")
		}
		return nil
	}
	if f.EmbeddingsTimeout <= 0 {
		return errors.New("--embeddings-timeout must be more than 0s")
	}
	key := f.EmbeddingsKey
	if f.EmbeddingsKeyFile != "" {
		if key != "" {
			return errors.New("give --embeddings-key or --embeddings-key-file, not both")
		}
		content, err := os.ReadFile(f.EmbeddingsKeyFile)
		if err != nil {
			return fmt.Errorf("the key of the embeddings service cannot be read: %w", err)
		}
		key = strings.TrimSpace(string(content))
	}
	embeddings, err := article.NewEmbeddings(article.EmbeddingsConfig{URL: f.EmbeddingsURL, Model: f.EmbeddingsModel, Key: key, Timeout: f.EmbeddingsTimeout})
	if err != nil {
		return err
	}
	search.Embed(embeddings)
	return nil
}
