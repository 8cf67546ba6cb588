import { errors } from "../index.js";

export = errors;
