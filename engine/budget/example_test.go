package budget_test

import (
	"context"
	"fmt"

	"marquee/engine/budget"
)

// A request takes one share, and carries it in its context. Work that finds that it
// needs more lets the share grow, and gives back what it no longer needs.
func ExampleBudget_Take() {
	b := budget.New(1 << 20)
	share, err := b.Take(context.Background(), "anna", 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := budget.With(context.Background(), share)
	fmt.Println(budget.Reserve(ctx, 4000), b.Used())
	budget.Return(ctx, 1000)
	fmt.Println(budget.Held(ctx), b.Used())
	share.Release()
	fmt.Println(b.Used())
	// Output:
	// <nil> 4000
	// 1000 1000
	// 0
}
