// The rules for the code of the pages and of its tests.

import js from "@eslint/js";
import globals from "globals";

const WEB = "src/leverframe/web";

// What the content security policy forbids, so that no page may write it.
const REFUSED = [
  {
    selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML)$/]",
    message: "Draw with lit-html: texts of people must never become elements.",
  },
  {
    selector: "CallExpression[callee.object.name='document'][callee.property.name=/^write/]",
    message: "Draw with lit-html.",
  },
  {
    selector: "TemplateElement[value.raw=/\\sstyle=/]",
    message: "The content security policy forbids style attributes: use a class, or `.style`.",
  },
];
// A slash within a pattern would end it, so it is written as its code.
const ADDRESS = "/^\\x2F([a-z_]+[.]cgi|(api|json|xml|web)\\x2F)/";
const ADDRESSES = [`Literal[value=${ADDRESS}]`, `TemplateElement[value.raw=${ADDRESS}]`].map(
  (selector) => ({ selector, message: "Only api.js and fleet/node_api.js know addresses." }),
);

// A controller may be far away from its reader, whose clock and zone say nothing about it.
const LOCAL_TIMES = [
  "NewExpression[callee.name='Date']",
  "MemberExpression[property.name=/^toLocale(Date|Time)?String$/]",
  "MemberExpression[object.name='Intl'][property.name='DateTimeFormat']",
].map((selector) => ({
  selector,
  message: "Times are those of the place: use lib/format/zone.js and lib/format/moments.js.",
}));

// A file opens with a comment that says what it is.
const header = {
  create: (context) => ({
    Program(node) {
      const [first] = context.sourceCode.getAllComments();
      if (first?.type !== "Line" || first.range[0] !== 0) {
        context.report({ node, message: "The first line says what the file is: `// ...`." });
      }
    },
  }),
};

export default [
  { ignores: [`${WEB}/vendor/**`, "**/node_modules/**"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  {
    plugins: { pages: { rules: { header } } },
    rules: {
      "array-callback-return": "error",
      curly: ["error", "multi-line"],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "max-len": ["error", { code: 100, ignoreUrls: false }],
      "no-alert": "error",
      "no-console": ["error", { allow: ["error"] }],
      "no-eval": "error",
      "no-implicit-coercion": ["error", { boolean: false }],
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-restricted-syntax": ["error", ...REFUSED],
      "no-self-compare": "error",
      "no-shadow": ["error", { builtinGlobals: false, hoist: "functions" }],
      "no-throw-literal": "error",
      "no-unused-private-class-members": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }],
      "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
      "no-var": "error",
      "object-shorthand": "error",
      "pages/header": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  {
    files: [`${WEB}/**/*.js`],
    languageOptions: { globals: globals.browser },
    rules: { "no-restricted-syntax": ["error", ...REFUSED, ...ADDRESSES, ...LOCAL_TIMES] },
  },
  {
    // The controller, and a node with many of them.
    files: [`${WEB}/lib/live/api.js`, `${WEB}/fleet/node_api.js`],
    rules: { "no-restricted-syntax": ["error", ...REFUSED, ...LOCAL_TIMES] },
  },
  {
    files: [`${WEB}/lib/format/zone.js`, `${WEB}/lib/format/moments.js`],
    rules: { "no-restricted-syntax": ["error", ...REFUSED, ...ADDRESSES] },
  },
  {
    files: ["tests/web/walk.js"],
    languageOptions: { sourceType: "script", globals: globals.browser },
    rules: { "no-unused-vars": ["error", { varsIgnorePattern: "^(walk|shownValues)$" }] },
  },
  {
    // The page "Try it" of the documents draws without lit-html, and runs beside the pages.
    files: ["docs/static/try/*.js"],
    languageOptions: { globals: { ...globals.browser, ...globals.serviceworker } },
  },
  {
    files: ["tests/web/logic/*", "tools/pages/*.js"],
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
  },
];
