// Package follower tests servers that follow the backups of another one (cantle follow), with the driver.
package follower
