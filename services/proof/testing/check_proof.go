// Checks a proof file with the note and tree packages of Go's own checksum database: another implementation than the
// one that made it. GO111MODULE=off GOPATH=/usr/share/gocode go run check_proof.go <proof file> <vkey>
package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must(err error) {
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
}

func decode(text string) []byte {
	bytes, err := base64.StdEncoding.DecodeString(text)
	must(err)
	return bytes
}

func hashOf(text string) (hash tlog.Hash) {
	copy(hash[:], decode(text))
	return hash
}

// entryOf makes the 42 bytes of an entry from its content, as docs/proof.md describes them.
func entryOf(content []byte) []byte {
	var event struct {
		Type string
		Data struct{ ValidUntil uint64 }
	}
	must(json.Unmarshal(content, &event))
	kinds := map[string]byte{"LogBegun": 0, "VerdictRecorded": 1, "OutcomeLabelled": 2}
	kind, isKnown := kinds[event.Type]
	if !isKnown {
		must(fmt.Errorf("%s is not looked at here", event.Type))
	}
	opensAt := uint64(0)
	if kind == 1 {
		opensAt = event.Data.ValidUntil
	}
	entry := binary.BigEndian.AppendUint64([]byte{1, kind}, opensAt)
	sum := sha256.Sum256(content)
	return append(entry, sum[:]...)
}

func main() {
	file, err := os.ReadFile(os.Args[1])
	must(err)
	head, checkpoint, _ := strings.Cut(string(file), "\n\n")
	lines := strings.Split(head, "\n")
	content := decode(strings.TrimPrefix(lines[1], "extra "))
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	must(err)
	proof := tlog.RecordProof{}
	for _, line := range lines[3:] {
		proof = append(proof, hashOf(line))
	}
	verifier, err := note.NewVerifier(os.Args[2])
	must(err)
	opened, err := note.Open([]byte(checkpoint), note.VerifierList(verifier))
	must(err)
	tree := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(tree[1], 10, 64)
	must(err)
	must(tlog.CheckRecord(proof, size, hashOf(tree[2]), index, tlog.RecordHash(entryOf(content))))
	fmt.Printf("entry %d of %d is signed by %s\n", index, size, opened.Sigs[0].Name)
}
