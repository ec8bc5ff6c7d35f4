// Package judged is a labelled set of articles and sentences for tests of the article
// search: which articles a sentence is about, and which share words with it by chance.
// It imports nothing of the project. README.md describes the files; begin with Load.
package judged

import (
	"embed"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed *.txtar
var files embed.FS

// Article is an article of the set. Some have no language.
type Article struct{ ID, Language, Title, Text string }

// Sentence is a sentence of the set with its labels.
type Sentence struct {
	Text string
	// HeldOut marks sentences that were not used to tune the scores.
	HeldOut bool
	// Grades has the grades, About or Related, of articles by id.
	Grades map[string]int
	// Chance has the ids of articles that share words with the sentence by chance.
	Chance []string
	// Exceptions has the ids of articles whose score is known to be wrong.
	Exceptions map[string]bool
}

// The grades of articles.
const (
	Related = 1
	About   = 2
)

// Load reads the set.
func Load() (articles []Article, sentences []Sentence, err error) {
	names, err := fs.Glob(files, "*.txtar")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		group := strings.TrimSuffix(name, ".txtar")
		for _, f := range txtar.Parse(text).Files {
			if f.Name != "tuning" && f.Name != "held out" {
				articles = append(articles, parseArticle(group+"-"+f.Name, string(f.Data)))
				continue
			}
			for line := range strings.Lines(string(f.Data)) {
				sentence, err := parseSentence(group, strings.TrimSpace(line))
				if err != nil {
					return nil, nil, fmt.Errorf("%s: %w", name, err)
				}
				sentence.HeldOut = f.Name == "held out"
				sentences = append(sentences, sentence)
			}
		}
	}
	return articles, sentences, check(articles, sentences)
}

func parseArticle(id, data string) Article {
	head, body, _ := strings.Cut(data, "\n\n")
	a := Article{ID: id, Text: strings.TrimSpace(body)}
	for line := range strings.Lines(head) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); name {
		case "title":
			a.Title = value
		case "language":
			a.Language = value
		}
	}
	return a
}

// parseSentence reads a line: the sentence, and the articles that it is about, that are
// related, and that share words by chance.
func parseSentence(group, line string) (Sentence, error) {
	parts := strings.Split(line, "|")
	if len(parts) != 4 {
		return Sentence{}, fmt.Errorf("%q does not have four parts", line)
	}
	s := Sentence{Text: strings.TrimSpace(parts[0]), Grades: map[string]int{}, Exceptions: map[string]bool{}}
	for i, part := range parts[1:] {
		for id := range strings.FieldsSeq(part) {
			id, exception := strings.CutSuffix(id, "!")
			if in, name, elsewhere := strings.Cut(id, "/"); elsewhere {
				id = in + "-" + name
			} else {
				id = group + "-" + id
			}
			if exception {
				s.Exceptions[id] = true
			}
			if i == 2 {
				s.Chance = append(s.Chance, id)
			} else {
				s.Grades[id] = About - i
			}
		}
	}
	return s, nil
}

// check reports a label of a missing article.
func check(articles []Article, sentences []Sentence) error {
	ids := map[string]bool{}
	for _, a := range articles {
		ids[a.ID] = true
	}
	for _, s := range sentences {
		for id := range s.Grades {
			if !ids[id] {
				return fmt.Errorf("%q: there is no article %s", s.Text, id)
			}
		}
		for _, id := range s.Chance {
			if !ids[id] {
				return fmt.Errorf("%q: there is no article %s", s.Text, id)
			}
		}
	}
	return nil
}

// Hit is an article that a search found.
type Hit struct {
	ID    string
	Score float64
}

// Share is the number of pairs of a sentence and an article with the right score, and
// of all such pairs.
type Share struct{ Right, Of int }

// Figures measure the quality of a search.
type Figures struct {
	// NDCG is the mean normalised discounted cumulative gain of the first ten articles,
	// over the sentences with grades.
	NDCG float64
	// About are the pairs that should score above 0.5. Chance and Other, with and
	// without a label, should score below 0.2.
	About, Chance, Other Share
}

func (f Figures) String() string {
	return fmt.Sprintf("nDCG@10 %.3f; about it and above 0.5: %d of %d; by chance and below 0.2: %d of %d; others below 0.2: %d of %d",
		f.NDCG, f.About.Right, f.About.Of, f.Chance.Right, f.Chance.Of, f.Other.Right, f.Other.Of)
}

// Measure searches for sentences. The search must return the articles that score more
// than 0, best first. Faults are the pairs with a wrong score that are not exceptions,
// and exceptions with a right score.
func Measure(articles []Article, sentences []Sentence, search func(sentence string) ([]Hit, error)) (f Figures, faults []string, err error) {
	var sum float64
	ranked := 0
	for _, s := range sentences {
		hits, err := search(s.Text)
		if err != nil {
			return f, nil, err
		}
		if len(s.Grades) > 0 {
			sum += nDCG(hits, s.Grades)
			ranked++
		}
		scores := map[string]float64{}
		for _, hit := range hits {
			scores[hit.ID] = hit.Score
		}
		for _, a := range articles {
			score, right := scores[a.ID], false
			switch {
			case s.Grades[a.ID] == About:
				right = f.About.count(score > 0.5)
			case s.Grades[a.ID] == Related:
				continue
			case slices.Contains(s.Chance, a.ID):
				right = f.Chance.count(score < 0.2)
			default:
				right = f.Other.count(score < 0.2)
			}
			if right == s.Exceptions[a.ID] {
				faults = append(faults, fmt.Sprintf("%q and %s: %.3f", s.Text, a.ID, score))
			}
		}
	}
	f.NDCG = sum / float64(ranked)
	return f, faults, nil
}

func (s *Share) count(right bool) bool {
	if s.Of++; right {
		s.Right++
	}
	return right
}

// nDCG returns the normalised discounted cumulative gain of the first ten hits.
func nDCG(hits []Hit, grades map[string]int) float64 {
	gain := func(grade, i int) float64 { return float64(int(1)<<grade-1) / math.Log2(float64(i+2)) }
	var got, ideal float64
	for i, hit := range hits[:min(10, len(hits))] {
		got += gain(grades[hit.ID], i)
	}
	var best []int
	for _, grade := range grades {
		best = append(best, grade)
	}
	slices.Sort(best)
	slices.Reverse(best)
	for i, grade := range best[:min(10, len(best))] {
		ideal += gain(grade, i)
	}
	return got / ideal
}
