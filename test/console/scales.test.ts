import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const SOURCES = fileURLToPath(new URL('../../console/src/', import.meta.url))

/** In pixels. Half steps are for what belongs together, as an icon and its text. */
const SPACES = [2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64]
const FONTS = [12, 13, 14, 16, 22, 26]

async function sizesOf(properties: RegExp): Promise<string[]> {
  const names = (await readdir(SOURCES, { recursive: true })).filter((name) => name.endsWith('.css'))
  const files = await Promise.all(names.map(async (name) => ({ name, text: await readFile(SOURCES + name, 'utf8') })))
  return files.flatMap(({ name, text }) =>
    [...text.matchAll(properties)].flatMap(([, property, value = '']) =>
      [...value.matchAll(/(?<![\d.-])(\d*\.?\d+)(px|rem)\b/g)].map(([size]) => `${size} ${name} ${property}`),
    ),
  )
}

it.each([
  ['spaces', /(?<![\w-])((?:padding|margin|(?:row-|column-)?gap)[\w-]*): ([^;]+);/g, SPACES],
  ['fonts', /(?<![\w-])(font(?:-size)?): ([^;]+);/g, FONTS],
] as const)('%s of the console have one scale', async (_of, properties, scale) => {
  const sizes = await sizesOf(properties)
  expect(sizes.length).toBeGreaterThan(scale.length)
  expect(sizes.filter((size) => !scale.some((step) => size.startsWith(`${step}px `)))).toEqual([])
})
