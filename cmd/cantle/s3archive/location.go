package s3archive

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/cantledb/cantle/storage/backup"
)

// Scheme is the prefix of the URL of an archive.
const Scheme = "s3://"

// Open returns the archive at a URL, s3://bucket/path?endpoint=https://host:port&region=name&pathStyle=true. Everything
// but the bucket may be missing; then the environment variables AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION and
// AWS_DEFAULT_REGION apply. Credentials come from the environment, from the files of AWS's tools, or from the role of
// the machine, in this order. Open sends no request. Errors: a malformed URL.
func Open(location string) (backup.Archive, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, err
	}
	if u.Scheme+"://" != Scheme || u.Host == "" {
		return nil, errors.New("the location of an object store is written as s3://bucket/path")
	}
	if u.User != nil || u.Port() != "" || u.Fragment != "" {
		return nil, errors.New("an s3:// URL has a bucket, a path and parameters; credentials come from the environment or from files, another server from the parameter endpoint")
	}
	endpoint, region, style, err := parameters(u)
	if err != nil {
		return nil, err
	}
	host, secure, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	transport.ResponseHeaderTimeout = responseMax
	client, err := minio.NewCore(host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}}),
		Secure: secure, Region: region, BucketLookup: style, Transport: transport, MaxRetries: triesMax,
	})
	if err != nil {
		return nil, err
	}
	prefix := strings.Trim(path.Clean("/"+u.Path), "/")
	u.Path = "/" + prefix
	return &archive{client: client, bucket: u.Host, prefix: prefix, url: u, terms: usual}, nil
}

// parameters reads the parameters of a URL. Errors: unknown parameters and values.
func parameters(u *url.URL) (endpoint, region string, style minio.BucketLookupType, err error) {
	endpoint = cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	region = cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", "", 0, err
	}
	for name, list := range values {
		value := list[len(list)-1]
		switch name {
		case "endpoint":
			endpoint = value
		case "region":
			region = value
		case "pathStyle":
			on, err := strconv.ParseBool(value)
			if err != nil {
				return "", "", 0, fmt.Errorf("pathStyle is true or false, not %q", value)
			}
			style = minio.BucketLookupDNS
			if on {
				style = minio.BucketLookupPath
			}
		default:
			return "", "", 0, fmt.Errorf("an s3:// URL has no parameter %q: there are endpoint, region and pathStyle", name)
		}
	}
	return endpoint, region, style, nil
}

// parseEndpoint splits the URL of a server, Amazon's if it is empty, into its host and whether it uses TLS.
func parseEndpoint(endpoint string) (host string, secure bool, err error) {
	if endpoint == "" {
		return "s3.amazonaws.com", true, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", false, fmt.Errorf("endpoint: %w", err)
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", false, fmt.Errorf("endpoint is a URL such as https://minio.example.com:9000, not %q", endpoint)
	}
	return u.Host, u.Scheme == "https", nil
}
