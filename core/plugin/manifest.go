package plugin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/rowelhq/rowel/sdk/abi"
)

// The bounds of a manifest, in bytes.
const (
	maxManifest    = 64 << 10
	maxDescription = 1 << 10
)

var (
	pluginName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	// semver is the expression that semver.org recommends, without its groups.
	semver = regexp.MustCompile(`^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)` +
		`(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
		`(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$`)
)

// parseManifest reads how a guest describes itself. Fields that this version does not
// know are left alone: a newer minor version may add some.
func parseManifest(src []byte) (abi.Manifest, error) {
	var m abi.Manifest
	if len(src) > maxManifest {
		return m, fmt.Errorf("the manifest has %d bytes, the most is %d", len(src), maxManifest)
	}
	if !utf8.Valid(src) {
		return m, fmt.Errorf("the manifest is not UTF-8")
	}
	if err := json.Unmarshal(src, &m); err != nil {
		return m, fmt.Errorf("the manifest is not the JSON of a manifest: %w", err)
	}
	switch {
	case m.ABI != abi.Major:
		return m, fmt.Errorf("the manifest says ABI %d, this controller speaks ABI %d", m.ABI, abi.Major)
	case m.Kind != abi.KindPolicy:
		return m, fmt.Errorf("the manifest says kind %q, this controller knows %q", m.Kind, abi.KindPolicy)
	case !pluginName.MatchString(m.Name):
		return m, fmt.Errorf("the name %q is not made of at most 63 lower-case letters, digits and '-'", shorten(m.Name))
	case len(m.Version) > 64 || !semver.MatchString(m.Version):
		return m, fmt.Errorf("the version %q is not a semantic version such as 1.0.0", shorten(m.Version))
	case len(m.Description) > maxDescription:
		return m, fmt.Errorf("the description has %d bytes, the most is %d", len(m.Description), maxDescription)
	case m.ConfigSchema != "" && !json.Valid([]byte(m.ConfigSchema)):
		return m, fmt.Errorf("the configuration schema is not JSON")
	case len(m.Grants) > 0:
		return m, fmt.Errorf("the plugin asks for the grant %q, which this controller does not know", shorten(m.Grants[0]))
	}
	return m, nil
}

// shorten keeps a guest's text fit for one line of an error.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
