"use strict";

module.exports = async () => {
  await globalThis.__CANTLE_SUITE__?.stop();
};
