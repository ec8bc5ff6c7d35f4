//go:build !unix

package limits

func MaxOpenFiles() (limit int, known bool) { return 0, false }
