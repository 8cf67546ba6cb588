"use strict";
const { binary } = require("cantle");
const { NoDownloadError } = require("./errors.js");

/** The program, which projects prepare before their tests; it is installed already. */
class MongoBinary {
  static async getPath() {
    return binary();
  }
  static async download() {
    return binary();
  }
}

/** The program, without a download. */
class DryMongoBinary {
  static binaryCache = new Map();

  static async locateBinary() {
    return binary();
  }
  static async getSystemPath() {
    return binary();
  }
}

for (const name of ["getEnsuredOptions", "generateOptions", "parseArchiveNameRegex", "getBinaryName", "combineBinaryName", "generatePaths", "generateDownloadPath"]) {
  DryMongoBinary[name] = () => {
    throw new NoDownloadError(`DryMongoBinary.${name}`);
  };
}

// Without this mark, compiled TypeScript takes all exports for the default import.
Object.defineProperty(exports, "__esModule", { value: true });
exports.MongoBinary = MongoBinary;
exports.DryMongoBinary = DryMongoBinary;
exports.default = MongoBinary;
