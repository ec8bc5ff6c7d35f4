package containers

import (
	"os"
	"testing"

	"marquee/integration/marqueetest"
)

// TestContainer serves the types of a hospital from the image, on each store.
func TestContainer(t *testing.T) {
	t.Parallel()
	for name, mongoDB := range map[string]bool{"sqlite": false, "mongodb": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			images := []string{marqueeImage}
			if mongoDB {
				images = append(images, mongoImage)
			}
			engine(t, images...)
			s := marqueetest.Container(t, marqueetest.ContainerOptions{Schemas: os.DirFS("../testdata/hospital"), MongoDB: mongoDB})
			s.Do("POST", "/api/v1/orders/o?context=main", `{"patient": "Kari", "diagnosis": "d"}`, 201)
			if order := s.Do("GET", "/api/v1/orders/o?context=main", "", 200); order["diagnosis"] != "d" {
				t.Errorf("the order is %v", order)
			}
			s.Do("GET", "/api/v1/sites?context=main", "", 404)
		})
	}
}
