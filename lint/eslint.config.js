import graphql from '@graphql-eslint/eslint-plugin'

// The rules of graphql-eslint for `schema.graphql`: its recommended ones, Relay's, and two more.

const { configs, parser } = graphql
const rule = (name) => `@graphql-eslint/${name}`

export default [
  {
    files: ['**/*.graphql'],
    languageOptions: { parser, parserOptions: { graphQLConfig: { schema: 'schema.graphql' } } },
    plugins: { '@graphql-eslint': graphql },
    rules: {
      ...configs['flat/schema-recommended'].rules,
      ...configs['flat/schema-relay'].rules,
      // Names of input types are held by `test/schema.test.ts`, which knows former names of mutations, too.
      [rule('input-name')]: 'error',
      [rule('no-scalar-result-type-on-mutation')]: 'error',
      // test/schema.test.ts demands descriptions where they say more than a name.
      [rule('require-description')]: 'off',
      // An object that is kept implements Node, which has an `id`. The others are values, and have none.
      [rule('strict-id-in-types')]: 'off',
      // `playerId` and similar fields are the ids of REST and of the audit log, in addition to the global `id`.
      [rule('no-typename-prefix')]: 'off',
      // Bounded lists are plain lists, and lists of values are paged, too.
      [rule('relay-edge-types')]: [
        'error',
        { withEdgeSuffix: true, listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false },
      ],
    },
  },
]
