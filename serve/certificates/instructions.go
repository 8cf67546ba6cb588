package certificates

import (
	"fmt"
	"path/filepath"
)

// Help is the help text of cantle cert.
const Help = `Creates certificates for development: a certificate authority, a server certificate signed
by it, and a client certificate, which also works as a login. An existing authority in the
folder is reused, so clients that trust it need no change.

  ca.pem        the authority: clients trust it, and so does the server
  ca-key.pem    its key
  server.pem    the server's certificate and key
  client.pem    a client's certificate and key
`

// Instructions returns the text that cantle cert prints: how to use the files that Make has written into the folder
// dir, with a server on the machine host and a client that logs in by the name subject.
func Instructions(dir, host, subject string) string {
	path := func(name string) string { return filepath.Join(dir, name) }
	authority, err := filepath.Abs(path("ca.pem"))
	if err != nil {
		authority = path("ca.pem")
	}
	return fmt.Sprintf(`Wrote ca.pem, ca-key.pem, server.pem and client.pem to %[1]s.

Start the server:
  cantle serve --memory --tls-mode requireTLS --tls-certificate-key-file %[2]s

--data FOLDER in the place of --memory keeps the data. In the place of the emulator of Azure Cosmos DB, add
--cosmos-listen 127.0.0.1:10255.

Connect:
  mongosh "mongodb://%[4]s:27017/?tls=true" --tlsCAFile %[3]s

To log in with the client's certificate, start the server with these flags as well, and create the user once:
  --tls-ca-file %[3]s --tls-allow-connections-without-certificates
  db.getSiblingDB("$external").runCommand({createUser: %[5]q, roles: [{role: "readWrite", db: "test"}]})
  mongosh "mongodb://%[4]s:27017/?tls=true&authMechanism=MONGODB-X509&authSource=%%24external" --tlsCAFile %[3]s --tlsCertificateKeyFile %[6]s

To make programs on this machine trust it without --tlsCAFile:
  Debian, Ubuntu  sudo cp %[7]s /usr/local/share/ca-certificates/cantle.crt && sudo update-ca-certificates
  macOS           sudo security add-trusted-cert -d -k /Library/Keychains/System.keychain %[7]s
  Node            export NODE_EXTRA_CA_CERTS=%[7]s
`, dir, path("server.pem"), path("ca.pem"), host, subject, path("client.pem"), authority)
}
