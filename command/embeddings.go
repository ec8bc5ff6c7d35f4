package command

import (
	"os"
	"strings"
	"time"

	"marquee/resources/article/embeddings"
)

// embeddingsFlags are the settings of a service that makes vectors of texts.
type embeddingsFlags struct {
	EmbeddingsURL     string        `name:"embeddings-url" help:"Base URL of an embeddings service for the article search (/v1/embeddings is appended). Without it, the search compares words." placeholder:"URL"`
	EmbeddingsModel   string        `help:"Model of the embeddings service." placeholder:"NAME"`
	EmbeddingsKey     string        `help:"Key of the embeddings service, sent as a bearer token." placeholder:"KEY"`
	EmbeddingsKeyFile string        `help:"File with that key." placeholder:"FILE"`
	EmbeddingsTimeout time.Duration `default:"10s" help:"How long a call of the embeddings service may take." placeholder:"TIME"`
}

// service is the embeddings service that the settings name, nil when they name
// none. No error holds the key.
func (f *embeddingsFlags) service() (*embeddings.Client, error) {
	if f.EmbeddingsURL == "" {
		if f.EmbeddingsModel != "" || f.EmbeddingsKey != "" || f.EmbeddingsKeyFile != "" {
			return nil, usagef("the settings of an embeddings service need its --embeddings-url")
		}
		return nil, nil
	}
	if f.EmbeddingsTimeout <= 0 {
		return nil, usagef("--embeddings-timeout must be more than 0s")
	}
	key := f.EmbeddingsKey
	if f.EmbeddingsKeyFile != "" {
		if key != "" {
			return nil, usagef("give --embeddings-key or --embeddings-key-file, not both")
		}
		content, err := os.ReadFile(f.EmbeddingsKeyFile)
		if err != nil {
			return nil, usagef("--embeddings-key-file cannot be read: %w", causeOf(err))
		}
		key = strings.TrimSpace(string(content))
	}
	client, err := embeddings.New(embeddings.Config{URL: f.EmbeddingsURL, Model: f.EmbeddingsModel, Key: key, Timeout: f.EmbeddingsTimeout})
	if err != nil {
		return nil, usagef("--embeddings-url: %w", err)
	}
	return client, nil
}
