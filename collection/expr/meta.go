package expr

const metaKinds = 12
