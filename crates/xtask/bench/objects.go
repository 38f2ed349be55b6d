// A bare loop of warp's client library: so many GET or PUT of objects of one length, so many at once.
//
// Objects are read and written by the calls, options and connections of warp 1, without its bookkeeping. The keys are in the environment.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// What warp reads objects from can seek, and cannot read at a place: the library then writes parts one after the other.
type stream struct{ io.ReadSeeker }

func main() {
	host := flag.String("host", "", "the store, HOST:PORT")
	bucket := flag.String("bucket", "bench", "the bucket; lay makes it")
	operation := flag.String("op", "get", "lay, get or put")
	size := flag.Int64("size", 4096, "bytes of an object")
	concurrent := flag.Int("concurrent", 20, "operations in flight")
	count := flag.Int64("count", 1000, "operations")
	objects := flag.Int64("objects", 20, "objects that are used in turn, or at random")
	flag.Parse()
	transport := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 10 * time.Second}).DialContext,
		MaxIdleConnsPerHost:   *concurrent,
		WriteBufferSize:       32 << 10,
		ReadBufferSize:        32 << 10,
		IdleConnTimeout:       90 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
		DisableCompression:    true,
	}
	client, err := minio.New(*host, &minio.Options{
		Creds:        credentials.NewEnvAWS(),
		Region:       "us-east-1",
		BucketLookup: minio.BucketLookupPath,
		Transport:    transport,
	})
	check(err)
	ctx := context.Background()
	content := make([]byte, *size)
	_, err = rand.Read(content)
	check(err)
	name := func(number int64) string { return fmt.Sprintf("objects/o.%d", number) }
	put := func(number int64) {
		_, err := client.PutObject(ctx, *bucket, name(number), stream{bytes.NewReader(content)}, *size, minio.PutObjectOptions{})
		check(err)
	}
	get := func(number int64) {
		object, err := client.GetObject(ctx, *bucket, name(number), minio.GetObjectOptions{})
		check(err)
		got, err := io.Copy(io.Discard, object)
		check(err)
		if got != *size {
			check(fmt.Errorf("%d bytes of %d", got, *size))
		}
		check(object.Close())
	}
	if *operation == "lay" {
		exists, err := client.BucketExists(ctx, *bucket)
		check(err)
		if !exists {
			check(client.MakeBucket(ctx, *bucket, minio.MakeBucketOptions{}))
		}
		for number := int64(0); number < *objects; number++ {
			put(number)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for i := 0; i < *concurrent; i++ {
		group.Add(1)
		go func(seed int64) {
			defer group.Done()
			random := mathrand.New(mathrand.NewSource(seed))
			for {
				number := next.Add(1) - 1
				if number >= *count {
					return
				}
				if *operation == "put" {
					put(number % *objects)
				} else {
					get(random.Int63n(*objects))
				}
			}
		}(int64(i))
	}
	group.Wait()
	fmt.Println("done", *count)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
