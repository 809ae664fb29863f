import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// `npm run check` for prose. Phrasings that were edited out must not come back, and the longest file of each folder is
// printed, which shows where a file may hold more than one concern.

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** Each phrasing with what to write instead. */
const PHRASINGS = [
  [/\bwho(?:m)?ever\b/i, 'name the caller, the client or the player'],
  [/\bunless given\b/i, '"Default: …"'],
  [/\banew\b/i, '"again"'],
  [/\bunheard\b/i, '"unhandled"'],
  [/\bhad better\b/i, '"should"'],
  [/\bin the midst\b/i, '"in the middle", "early"'],
  [/\bbe it that\b/i, '"whether … or …"'],
  [/\bbear it\b/i, 'say what fails'],
  [/\bnobody's\b/i, '"no …\'s"'],
  [/\ball that it takes\b/i, '"the input"'],
  [/\b(?:some|any)body\b/i, 'name the caller, the client or the person'],
  [/\bonce in all\b/i, '"only once"'],
  [/\bfurther ones\b/i, 'repeat the noun'],
  [/\bits like\b/i, '"similar"'],
  [/\bwhat there is\b/i, 'name the thing'],
]
const PROSE = ['src', 'console/src', 'docs', 'bench', 'examples', 'README.md', 'CONTRIBUTING.md']

function* filesOf(path) {
  if (!statSync(join(ROOT, path)).isDirectory()) yield path
  else
    for (const name of readdirSync(join(ROOT, path)).sort())
      if (name !== 'generated' && name !== 'node_modules') yield* filesOf(join(path, name))
}

let faults = 0
const longest = new Map()
for (const path of PROSE.flatMap((place) => [...filesOf(place)])) {
  if (!/\.(tsx?|js|mjs|md)$/.test(path)) continue
  const lines = readFileSync(join(ROOT, path), 'utf8').split('\n')
  for (const [index, line] of lines.entries()) {
    for (const [phrasing, instead] of PHRASINGS) {
      // Titles of tests are quoted by the pages.
      if (!phrasing.test(line) || line.includes('`test/')) continue
      faults += 1
      console.error(`${path}:${index + 1}: "${phrasing.exec(line)[0]}": ${instead}`)
    }
  }
  if (!path.startsWith('src')) continue
  const folder = dirname(path)
  if (lines.length > (longest.get(folder)?.length ?? 0)) longest.set(folder, { path, length: lines.length })
}
const sorted = [...longest.values()].sort((a, b) => b.length - a.length)
console.log(`Longest files: ${sorted.map(({ path, length }) => `${path} ${length}`).join(', ')}`)
if (faults > 0) process.exit(1)
