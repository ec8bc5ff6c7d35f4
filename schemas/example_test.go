package schemas_test

import (
	"fmt"

	"marquee/engine/schema"
	"marquee/schemas"
)

// The types are loaded with the shared definitions that they refer to.
func ExampleFS() {
	registry, err := schema.Load(schema.Source{Name: "schemas", FS: schemas.FS})
	if err != nil {
		fmt.Println(err)
		return
	}
	site, _ := registry.Type("sites")
	field, err := site.Field("orderBy", "siteUrl")
	fmt.Println(site.Title, site.Sort, field.Path[0].Name, err)
	// Output: Site [name siteUrl] siteUrl <nil>
}
