// Package config reads config.hcl, the one file of a Rowel process, whatever its
// role: controller, agent or dev.
//
// HCL is decoded here and nowhere else. Every problem of a file is reported at once,
// each with file, line and column, as Problems. The package starts nothing and opens
// nothing but the file itself; cmd/rowel calls it and hands each part its own values.
//
// config.hcl.example at the root of the repository lists every key with its default,
// and a test keeps it so.
package config
