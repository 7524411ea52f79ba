package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// decoder fills a Config from parsed HCL. It goes on after a problem, leaving the key's
// default in place, so that one run finds them all. gohcl would do most of this, but
// not keep the place of each value for the checks that come after.
type decoder struct {
	source   source
	problems *Problems
}

// block decodes the body of one block, or of the file when prefix is empty.
func (d *decoder) block(body *hclsyntax.Body, target reflect.Value, prefix string) {
	for name, attribute := range body.Attributes {
		key := prefix + name
		index, found := fieldOf(target.Type(), name)
		switch {
		case !found:
			d.problems.add(attribute.NameRange, key, "unknown key: %s", suggestion(target.Type(), name))
		case isBlock(target.Field(index).Type()):
			d.problems.add(attribute.NameRange, key, "is a block, not a key: write %s { ... }", name)
		default:
			d.attribute(attribute, target.Field(index), key)
		}
	}
	for _, block := range body.Blocks {
		key := prefix + block.Type
		index, found := fieldOf(target.Type(), block.Type)
		switch {
		case !found:
			d.problems.add(block.TypeRange, key, "unknown block: %s", suggestion(target.Type(), block.Type))
		case !isBlock(target.Field(index).Type()):
			d.problems.add(block.TypeRange, key, "is a key, not a block: write %s = ...", block.Type)
		case len(block.Labels) > 0:
			d.problems.add(block.LabelRanges[0], key, "takes no label: write %s { ... }", block.Type)
		default:
			d.nested(block, target.Field(index), key)
		}
	}
}

func (d *decoder) nested(block *hclsyntax.Block, target reflect.Value, key string) {
	if first, twice := d.source.keys[key]; twice {
		d.problems.add(block.TypeRange, key, "appears twice: put its keys into the block in line %d", first.Start.Line)
		return
	}
	d.source.keys[key] = block.TypeRange
	d.block(block.Body, target, key+".")
}

func (d *decoder) attribute(attribute *hclsyntax.Attribute, target reflect.Value, key string) {
	at := attribute.Expr.Range()
	d.source.keys[key] = at
	value, diagnostics := attribute.Expr.Value(nil)
	if diagnostics.HasErrors() {
		d.problems.addDiagnostics(d.source.file, key, diagnostics)
		return
	}
	if err := assign(target, value); err != nil {
		d.problems.add(hcl.Range{Filename: d.source.file, Start: at.Start}, key, "%v", err)
	}
}

// assign converts a value strictly to the type of the field: 6817 is no string and "3"
// no number, because what looks like a typing error mostly is one.
func assign(target reflect.Value, value cty.Value) error {
	switch field := target.Addr().Interface().(type) {
	case *string:
		return assignString(field, value)
	case *bool:
		if !is(value, cty.Bool) {
			return mismatch(value, "true or false, without quotes")
		}
		*field = value.True()
		return nil
	case *int:
		return assignInt(field, value)
	case *time.Duration:
		return assignDuration(field, value)
	case *Size:
		return assignSize(field, value)
	case *[]string:
		return assignList(field, value)
	case *map[string]string:
		return assignMap(field, value)
	default:
		panic(fmt.Sprintf("config: no decoding for a field of type %T", field))
	}
}

func assignString(field *string, value cty.Value) error {
	if !is(value, cty.String) {
		return mismatch(value, `a string in quotes`)
	}
	*field = value.AsString()
	return nil
}

func assignInt(field *int, value cty.Value) error {
	const want = "a whole number, without quotes"
	if !is(value, cty.Number) {
		return mismatch(value, want)
	}
	number := value.AsBigFloat()
	n, accuracy := number.Int64()
	if accuracy != 0 || int64(int32(n)) != n {
		return fmt.Errorf("must be %s, not %s", want, number.Text('g', 12))
	}
	*field = int(n)
	return nil
}

func assignDuration(field *time.Duration, value cty.Value) error {
	const want = `a duration in quotes, such as "500ms", "5s" or "1h30m"`
	if !is(value, cty.String) {
		return mismatch(value, want)
	}
	duration, err := time.ParseDuration(value.AsString())
	if err != nil {
		return fmt.Errorf("must be %s, not %.80q", want, value.AsString())
	}
	*field = duration
	return nil
}

// assignSize takes an empty string as zero, which some keys read as "not set".
func assignSize(field *Size, value cty.Value) error {
	if !is(value, cty.String) {
		return mismatch(value, `a size in quotes, such as "256MiB" or "1GiB"`)
	}
	if value.AsString() == "" {
		*field = 0
		return nil
	}
	size, err := ParseSize(value.AsString())
	if err != nil {
		return err
	}
	*field = size
	return nil
}

func assignList(field *[]string, value cty.Value) error {
	const want = `a list of strings, such as ["a", "b"]`
	if value.IsNull() || !value.Type().IsTupleType() && !value.Type().IsListType() {
		return mismatch(value, want)
	}
	var list []string
	for _, element := range value.AsValueSlice() {
		if !is(element, cty.String) {
			return mismatch(element, want)
		}
		list = append(list, element.AsString())
	}
	*field = list
	return nil
}

func assignMap(field *map[string]string, value cty.Value) error {
	const want = `a map of strings, such as { rack = "r1" }`
	if value.IsNull() || !value.Type().IsObjectType() && !value.Type().IsMapType() {
		return mismatch(value, want)
	}
	var entries map[string]string
	for name, element := range value.AsValueMap() {
		if !is(element, cty.String) {
			return mismatch(element, want)
		}
		if entries == nil {
			entries = map[string]string{}
		}
		entries[name] = element.AsString()
	}
	*field = entries
	return nil
}

func is(value cty.Value, want cty.Type) bool {
	return value.Type().Equals(want) && !value.IsNull() && value.IsKnown()
}

func mismatch(value cty.Value, want string) error {
	got := value.Type().FriendlyName()
	switch {
	case value.IsNull():
		got = "null"
	case value.Type().IsTupleType():
		got = "list"
	case value.Type().IsObjectType():
		got = "map"
	}
	return fmt.Errorf("must be %s, not %s", want, article(got))
}

func article(noun string) string {
	if noun == "null" || strings.HasPrefix(noun, "a") {
		return noun
	}
	return "a " + noun
}
