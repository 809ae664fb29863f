import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { MapperKind, mapSchema, pruneSchema } from '@graphql-tools/utils'
import { buildSchema, findBreakingChanges, type GraphQLSchema } from 'graphql'

// `npm run schema:check`: fails when schema.graphql breaks what the last release promised. Not part of the service.

const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 26 })

/** The tag of the last release before this commit. Undefined before the first one. */
const lastRelease = (): string | undefined =>
  git('tag', '--merged', 'HEAD', '--sort=-version:refname')
    .split('\n')
    .find((tag) => /^v\d+\.\d+\.\d+$/.test(tag))

const unlessDeprecated = <T extends { readonly deprecationReason?: string | null | undefined }>(part: T): T | null =>
  part.deprecationReason == null ? part : null

/** What a release still promised: a schema without its deprecated parts, and without types that only these reached. */
function promised(schema: GraphQLSchema): GraphQLSchema {
  const kept = mapSchema(schema, {
    [MapperKind.FIELD]: unlessDeprecated,
    [MapperKind.ARGUMENT]: unlessDeprecated,
    [MapperKind.ENUM_VALUE]: unlessDeprecated,
  })
  return pruneSchema(kept)
}

const release = lastRelease()
if (release === undefined) {
  console.log('There is no release to compare schema.graphql with.')
} else {
  const before = promised(buildSchema(git('show', `${release}:schema.graphql`)))
  const breaks = findBreakingChanges(before, buildSchema(readFileSync('schema.graphql', 'utf8')))
  if (breaks.length === 0) {
    console.log(`schema.graphql breaks nothing of ${release} that was not deprecated there.`)
  } else {
    console.error(`schema.graphql breaks what ${release} had not deprecated:`)
    for (const { description } of breaks) console.error(`- ${description}`)
    process.exitCode = 1
  }
}
