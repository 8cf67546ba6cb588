module.exports = {
  mongodbMemoryServerOptions: {
    binary: { version: "7.0.14", skipMD5: true },
    instance: {},
    replSet: { count: 1, storageEngine: "wiredTiger" },
    autoStart: false,
  },
};
