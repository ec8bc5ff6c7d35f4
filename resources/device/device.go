// Package device serves the fixed lists of the devices that a line item can
// target, by brand, operating system and type. It may import engine/rest only;
// begin with Route.
package device

// The values that the schema of targeting allows, in its order.
var (
	brands = []string{
		"UNKNOWN", "DESKTOP", "APPLE", "NOKIA", "HTC", "SAMSUNG", "SONY_ERICSSON", "LG", "MOTOROLA", "RIM", "HUAWEI",
		"ZTE", "ASUS", "PANASONIC", "FUJITSU", "SHARP", "NEC", "KYOCERA", "ACER",
	}
	oses = []string{
		"UNKNOWN", "WINDOWS_PHONE", "WINDOWS", "MACINTOSH", "IOS", "ANDROID", "LINUX", "SUNOS", "BSD", "SYMBIAN", "BLACKBERRY",
	}
	types = []string{"DESKTOP", "TABLET", "MOBILE"}
)

// Group is one of the lists.
type Group struct {
	Group      string     `json:"group"`
	Properties []Property `json:"properties"`
}

// Property is a value of a group. Param is the name of its group, and Example
// shows the two as a query: param=value.
type Property struct {
	Param   string `json:"param"`
	Value   string `json:"value"`
	Example string `json:"example"`
}

// Groups returns new copies of the lists.
func Groups() []Group {
	return []Group{group("targetedBrands", brands), group("targetedOSes", oses), group("targetedDeviceTypes", types)}
}

func group(name string, values []string) Group {
	g := Group{Group: name, Properties: make([]Property, len(values))}
	for i, value := range values {
		g.Properties[i] = Property{Param: name, Value: value, Example: name + "=" + value}
	}
	return g
}
