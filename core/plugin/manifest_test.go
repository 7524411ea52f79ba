package plugin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rowelhq/rowel/sdk/abi"
)

const goodManifest = `{"abi":1,"kind":"policy","name":"a","version":"1.2.3-rc.1+x","config_schema":"{}","later":[1]}`

func TestManifestWithUnknownFieldsIsAccepted(t *testing.T) {
	m, err := parseManifest([]byte(goodManifest))
	if err != nil || m.Name != "a" || m.Version != "1.2.3-rc.1+x" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestBadManifestIsRefusedInASentence(t *testing.T) {
	tests := map[string]struct{ from, to, want string }{
		"ABI":         {`"abi":1`, `"abi":2`, "says ABI 2, this controller speaks ABI 1"},
		"kind":        {`"policy"`, `"check"`, `kind "check"`},
		"no name":     {`"name":"a"`, `"name":""`, "the name"},
		"upper case":  {`"name":"a"`, `"name":"A"`, "lower-case"},
		"path":        {`"name":"a"`, `"name":"../a"`, "lower-case"},
		"long name":   {`"name":"a"`, `"name":"` + strings.Repeat("a", 64) + `"`, "63"},
		"line break":  {`"name":"a"`, `"name":"a\n"`, "lower-case"},
		"version":     {`1.2.3-rc.1+x`, `v1.2.3`, "semantic version"},
		"zero":        {`1.2.3-rc.1+x`, `01.2.3`, "semantic version"},
		"description": {`"abi"`, `"description":"` + strings.Repeat("x", 2000) + `","abi"`, "description has 2000 bytes"},
		"schema":      {`"{}"`, `"{"`, "schema is not JSON"},
		"grant":       {`"abi"`, `"grants":["network"],"abi"`, `asks for the grant "network"`},
		"type":        {`"a"`, `7`, "not the JSON of a manifest"},
		"UTF-8":       {`"a"`, "\"\xff\"", "not UTF-8"},
		"size":        {`"abi"`, `"x":"` + strings.Repeat("x", maxManifest) + `","abi"`, "the most is 65536"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := strings.Replace(goodManifest, test.from, test.to, 1)
			if _, err := parseManifest([]byte(src)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(goodManifest))
	f.Add([]byte(`{"abi":1,"kind":"policy","name":"a","version":"1.0.0"} trailing`))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := parseManifest(src)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if m.ABI != abi.Major || m.Kind != abi.KindPolicy || strings.Trim(m.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("accepted %+v", m)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseManifest(again); err != nil && len(again) <= maxManifest {
			t.Errorf("what was accepted is refused when written again: %v", err)
		}
	})
}
