"use strict";
require("../lib/suite.js").startFile(globalThis);
