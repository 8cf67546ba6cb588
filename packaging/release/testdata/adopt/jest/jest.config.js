module.exports = { preset: "@shelf/jest-mongodb", watchPathIgnorePatterns: ["globalConfig"] };
