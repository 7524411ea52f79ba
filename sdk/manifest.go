package sdk

import (
	"strconv"

	"github.com/rowelhq/rowel/sdk/abi"
)

// manifest writes abi.Manifest as JSON by hand: encoding/json would add more than a
// megabyte to every guest.
func (i Info) manifest(kind string) []byte {
	out := append([]byte(nil), `{"abi":`...)
	out = strconv.AppendInt(out, abi.Major, 10)
	for _, field := range [...][2]string{
		{"kind", kind}, {"name", i.Name}, {"version", i.Version}, {"description", i.Description},
	} {
		out = append(out, `,"`...)
		out = append(out, field[0]...)
		out = append(out, `":`...)
		out = appendJSONString(out, field[1])
	}
	return append(out, '}')
}

// appendJSONString quotes s as RFC 8259 asks: what is not UTF-8 becomes U+FFFD.
func appendJSONString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			out = append(out, string(r)...)
		}
	}
	return append(out, '"')
}
