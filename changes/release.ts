import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { packChart, packGo, packUnity } from './release/archives.ts'
import { gatherChanges } from './release/changelog.ts'
import { checkFiles, writeSums } from './release/check.ts'
import { inCopy } from './release/copy.ts'
import { findFaults, findTaggedFaults, tagsOf } from './release/faults.ts'
import { findBuilder, packImage } from './release/image.ts'
import { describePackage, packNpm, packService, preparePackage } from './release/npm.ts'
import { run } from './release/run.ts'
import { listFiles, runSteps, type Step } from './release/steps.ts'
import { writeVersion } from './release/versions.ts'

// `npm run release -- 0.2.0` makes a release: files in artifacts/release/, a commit and its tags. It publishes nothing:
// .github/workflows/release.yml does that, for a tag that is pushed.

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const OUT = join(ROOT, 'artifacts/release')
const USAGE = `usage: npm run release -- <version> [--dry-run] [--no-image]
       npm run release -- <version> --tagged [--no-image]

  <version>    such as 0.2.0, greater than that in package.json
  --dry-run    makes and checks all files, and changes nothing outside of artifacts/release/
  --tagged     makes the files of a release whose tag the present commit has, as the workflow does
  --no-image   makes no image of the container`

interface Wish {
  readonly version: string
  readonly isDry: boolean
  readonly isTagged: boolean
  readonly hasImage: boolean
}

function readWish(): Wish | undefined {
  const flag = { type: 'boolean', default: false } as const
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { 'dry-run': flag, tagged: flag, 'no-image': flag },
    })
    const [version = '', ...more] = positionals
    if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version) || more.length > 0) return undefined
    return { version, isDry: values['dry-run'], isTagged: values.tagged, hasImage: !values['no-image'] }
  } catch {
    return undefined
  }
}

/** The steps that make and check the files of a release in a copy. */
function stepsOf({ version, isTagged, hasImage }: Wish, copy: string): Step[] {
  const builder = hasImage ? findBuilder() : undefined
  if (hasImage && !builder) console.log('Neither Docker nor Buildah runs here: no image is made.')
  const isNew: Step[] = [
    {
      title: 'the version and CHANGELOG.md',
      run() {
        writeVersion(copy, version)
        gatherChanges(copy, version)
        run(copy, 'git', 'commit', '--quiet', '--all', '--message', `release: ${version}`)
      },
    },
  ]
  const image: Step[] = builder
    ? [{ title: `the image, by ${builder}`, run: () => packImage(builder, copy, version, OUT) }]
    : []
  return [
    ...(isTagged ? [] : isNew),
    { title: 'the build', run: () => run(copy, process.execPath, 'build.js') },
    ...image,
    { title: 'the Go module', run: () => packGo(copy, version, OUT) },
    { title: 'the package for Unity', run: () => packUnity(copy, version, OUT) },
    { title: 'the Helm chart', run: () => packChart(copy, version, OUT) },
    { title: 'tierway-client', run: () => packNpm(join(copy, 'sdk/js'), OUT) },
    { title: 'tierway-server', run: () => packNpm(join(copy, 'sdk/server'), OUT) },
    {
      title: 'the bill of materials and the licenses',
      run() {
        preparePackage(copy)
        describePackage(copy, version, OUT)
      },
    },
    { title: 'tierway', run: () => packService(ROOT, copy, OUT) },
    { title: 'the checks', run: () => checkFiles(OUT, version) },
    { title: 'the checksums', run: () => writeSums(OUT) },
  ]
}

function release(wish: Wish): void {
  const { version, isDry, isTagged } = wish
  const faults = isTagged ? findTaggedFaults(ROOT, version) : findFaults(ROOT, version)
  if (faults.length > 0) throw new Error(faults.join('\n'))
  rmSync(OUT, { recursive: true, force: true })
  mkdirSync(OUT, { recursive: true })
  const commit = inCopy(ROOT, (copy) => {
    runSteps(stepsOf(wish, copy))
    return run(copy, 'git', 'rev-parse', 'HEAD')
  })
  console.log(`\nIn artifacts/release/:\n${listFiles(OUT)}`)
  if (isTagged) return
  const tags = tagsOf(version)
  if (isDry) {
    console.log(`Nothing else has changed. Without --dry-run, this commits and makes the tags ${tags.join(' and ')}.`)
    return
  }
  run(ROOT, 'git', 'merge', '--quiet', '--ff-only', commit)
  for (const tag of tags) run(ROOT, 'git', 'tag', '--annotate', '--message', `Tierway ${version}`, tag, commit)
  console.log(`The commit and the tags ${tags.join(' and ')} are made, and nothing is published. Next:`)
  console.log(`  git push origin HEAD ${tags.join(' ')}\nThe workflow "Release" then publishes.`)
}

const wish = readWish()
try {
  if (!wish) throw new Error(USAGE)
  release(wish)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
