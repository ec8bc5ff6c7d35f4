package parallel_test

import (
	"fmt"

	"marquee/engine/parallel"
)

// Each goroutine has a buffer of its own, and no two calls have the same number, so
// that neither needs a lock.
func ExampleDo() {
	numbers := []int{1, 20, 300}
	texts := make([]string, len(numbers))
	err := parallel.Do(len(numbers), func() func(int) error {
		var buffer []byte
		return func(i int) error {
			buffer = fmt.Appendf(buffer[:0], "%04d", numbers[i])
			texts[i] = string(buffer)
			return nil
		}
	})
	fmt.Println(texts, err)
	// Output: [0001 0020 0300] <nil>
}
