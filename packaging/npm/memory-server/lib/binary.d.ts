export { MongoBinary, DryMongoBinary, MongoBinary as default, type MongoBinaryOpts } from "../index.js";
