package config

import (
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxFileBytes bounds a configuration file: a wrong path must not fill the memory.
const maxFileBytes = 1 << 20

// Load reads, decodes and checks a file. The error is Problems when the file can be read
// and is wrong, and otherwise names the path.
func Load(path string) (*Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(src) > maxFileBytes {
		return nil, fmt.Errorf("read configuration: %s is larger than %d bytes", path, maxFileBytes)
	}
	return Parse(path, src)
}

// Parse decodes and checks the text of a file; filename is only for messages. What the
// text does not set has the values of Default. The error is Problems.
func Parse(filename string, src []byte) (*Config, error) {
	var problems Problems
	file, diagnostics := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	if diagnostics.HasErrors() {
		// What else is wrong cannot be told from the consequences of the broken syntax.
		problems.addDiagnostics(filename, "", diagnostics)
		return nil, problems.err()
	}
	c := Default()
	c.source = source{file: filename, keys: map[string]hcl.Range{}}
	d := decoder{source: c.source, problems: &problems}
	d.block(file.Body.(*hclsyntax.Body), reflect.ValueOf(c).Elem(), "")
	if err := c.check(problems).err(); err != nil {
		return nil, err
	}
	return c, nil
}
