package resources

import (
	"errors"
	"fmt"
	"time"

	"marquee/engine/rest"
	"marquee/resources/article"
	"marquee/resources/article/embeddings"
)

// Settings are the flags that package command adds to those of serve.
type Settings struct {
	service *Service

	EmbeddingsURL     string        `name:"embeddings-url" help:"Base URL of an embeddings service for the article search (/v1/embeddings is appended). Without it, the search compares words." placeholder:"URL"`
	EmbeddingsModel   string        `help:"Model of the embeddings service." placeholder:"NAME"`
	EmbeddingsKey     string        `help:"Key of the embeddings service, sent as a bearer token." placeholder:"KEY" secret:""`
	EmbeddingsKeyFile string        `help:"File with that key." placeholder:"FILE"`
	EmbeddingsTimeout time.Duration `default:"10s" help:"How long a call of the embeddings service may take." placeholder:"TIME"`
	CDNURL            rest.BaseURL  `name:"cdn-url" help:"URL that serves assets, such as that of a CDN in front of this service; without it, objects have their paths on this service." placeholder:"URL"`
	MaxAssetSize      int64         `default:"20971520" help:"Maximum size of an asset file." placeholder:"BYTES"`
	NetworkQuota      int64         `default:"0" help:"Maximum size of all asset files of a network; 0 means no quota." placeholder:"BYTES"`
}

// Settings returns the settings of the service.
func (s *Service) Settings() *Settings { return &Settings{service: s} }

// Configure applies the settings. The index of articles has at most a quarter of the
// memory of a container, whose limit is 0 if there is none.
func (s *Settings) Configure(container int64) error {
	if s.MaxAssetSize < 1 {
		return errors.New("--max-asset-size must be at least 1")
	}
	if s.NetworkQuota < 0 {
		return errors.New("--network-quota must not be less than 0")
	}
	client, err := s.embeddings()
	if err != nil {
		return err
	}
	assets, articles := s.service.Assets, s.service.Articles
	assets.MaxBytes, assets.NetworkQuota, assets.CDN = s.MaxAssetSize, s.NetworkQuota, string(s.CDNURL)
	articles.Limit(articleMemory(container))
	if client != nil {
		articles.Embed(client)
	}
	return nil
}

// articleMemory returns the most memory for the index of articles.
func articleMemory(container int64) int64 {
	if container > 0 {
		return min(article.DefaultIndexBytes, container/4)
	}
	return article.DefaultIndexBytes
}

// embeddings returns the embeddings service that the settings name, nil if they name
// none. No error has the key.
func (s *Settings) embeddings() (*embeddings.Client, error) {
	if s.EmbeddingsURL == "" {
		if s.EmbeddingsModel != "" || s.EmbeddingsKey != "" {
			return nil, errors.New("the settings of an embeddings service need its --embeddings-url")
		}
		return nil, nil
	}
	if s.EmbeddingsTimeout <= 0 {
		return nil, errors.New("--embeddings-timeout must be more than 0s")
	}
	client, err := embeddings.New(embeddings.Config{URL: s.EmbeddingsURL, Model: s.EmbeddingsModel, Key: s.EmbeddingsKey, Timeout: s.EmbeddingsTimeout})
	if err != nil {
		return nil, fmt.Errorf("--embeddings-url: %w", err)
	}
	return client, nil
}
