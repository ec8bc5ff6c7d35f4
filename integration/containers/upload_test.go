package containers

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/testcontainers/testcontainers-go"
)

// readOnly restricts a container like a hardened deployment: it can write to mounted
// file systems only, and has no capabilities.
func readOnly(tmpfs map[string]string) testcontainers.ContainerCustomizer {
	return testcontainers.WithHostConfigModifier(func(config *container.HostConfig) {
		config.ReadonlyRootfs, config.Tmpfs = true, tmpfs
		config.CapDrop, config.SecurityOpt = []string{"ALL"}, []string{"no-new-privileges:true"}
	})
}

// uploads checks that the service takes the uploads for which it needs temporary
// files: segments, and the file of an asset.
func (s *service) uploads(t *testing.T, id string) {
	t.Helper()
	send := func(path, contentType, body string) {
		t.Helper()
		if _, err := s.send(t.Context(), http.MethodPost, "/api/v1/"+path+"?context=main", contentType, body); err != nil {
			t.Fatal(err)
		}
	}
	send("segments/upload", "application/json", `[{"segmentId": "`+id+`", "name": "`+strings.Repeat("S", 200)+`", "dataSource": "ADOBE", "description": "`+strings.Repeat("d", 2000)+`"}]`)
	send("layouts/"+id, "application/json", `{"name": "L", "html": "<img src=\"{{image}}\">", "assetConstraints": [{"tag": "image"}]}`)
	send("creatives/"+id, "application/json", `{"name": "C", "layout": "`+id+`", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`)
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("file", "page.html")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write([]byte("<!doctype html><p>" + strings.Repeat("text ", 100_000))); err != nil {
		t.Fatal(err)
	}
	if err := parts.Close(); err != nil {
		t.Fatal(err)
	}
	send("assets/"+id+"/"+id, parts.FormDataContentType(), form.String())
}

// uploaded checks that what uploads has stored is there.
func (s *service) uploaded(ctx context.Context, id string) error {
	for _, path := range []string{"segments/" + id, "assets/" + id + "/" + id} {
		if _, err := s.send(ctx, http.MethodGet, "/api/v1/"+path+"?context=main", "", ""); err != nil {
			return err
		}
	}
	return nil
}

// TestReadOnlyContainer: a container whose file system is read-only takes uploads:
// temporary files are on the volume, and elsewhere where TMPDIR says so.
func TestReadOnlyContainer(t *testing.T) {
	t.Parallel()
	docker := engine(t, marqueeImage)
	for name, options := range map[string][]testcontainers.ContainerCustomizer{
		"Volume":   {readOnly(nil), testcontainers.WithMounts(testcontainers.VolumeMount(volume(t, docker), "/data"))},
		"InMemory": {readOnly(map[string]string{"/tmp": ""}), testcontainers.WithEnv(map[string]string{"TMPDIR": "/tmp"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, options...)
			s.signIn(t, password)
			s.uploads(t, "a")
			if err := s.uploaded(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
	}
}
