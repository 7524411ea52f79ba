package sdk

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/sdk/abi"
)

func TestManifestIsTheJSONOfWhatThePolicySays(t *testing.T) {
	info := Info{Name: "mine", Version: "1.2.3", Description: "says \"no\"\\\n\x01 \xff ü"}
	var got abi.Manifest
	if err := json.Unmarshal(info.manifest(abi.KindPolicy), &got); err != nil {
		t.Fatal(err)
	}
	want := abi.Manifest{
		ABI: 1, Kind: "policy", Name: "mine", Version: "1.2.3", Description: "says \"no\"\\\n\x01 \ufffd ü",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPolicyRefusesASecondOne(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the second call did not panic")
		}
	}()
	Policy(Info{Name: "one"}, func(*Cycle) {})
	Policy(Info{Name: "two"}, func(*Cycle) {})
}
