import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import pixelmatch from 'pixelmatch'
import type { Page } from 'playwright-core'
import { PNG, type PNGOptions } from 'pngjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BASELINES = join(ROOT, 'test/console/looks')
const ARTIFACTS = join(ROOT, 'artifacts/console/looks')
/** `LOOKS=update` accepts the new looks. */
const isUpdate = process.env.LOOKS === 'update'

/** Why pictures cannot be compared here, or an empty text. */
export const withoutLooks = process.platform === 'linux' ? '' : 'SKIPPED, the pictures are those of Linux: '

/**
 * The part of the pixels that may differ. Another version of Chromium draws some edges of letters in another way. A
 * panel with four more pixels of padding changes several times as many.
 */
const TOLERANCE = 0.0005
/** How much a colour may differ, of the distance from black to white. */
const THRESHOLD = 0.05

/** How many steps a colour has from dark to bright. */
const LEVELS = 31
/** Without a filter and with the usual strategy, flat pictures are smallest. */
const SMALL: PNGOptions = { colorType: 2, filterType: 0, deflateStrategy: 0, deflateLevel: 9 }

const require = createRequire(import.meta.url)
/** The fonts of the pictures. The console has those of the system, which differ from machine to machine. */
const FONTS = [
  { family: 'Look', weight: '400', file: '@fontsource/dejavu-sans/files/dejavu-sans-latin-400-normal.woff2' },
  { family: 'Look', weight: '700', file: '@fontsource/dejavu-sans/files/dejavu-sans-latin-700-normal.woff2' },
  { family: 'Look Mono', weight: '400', file: '@fontsource/dejavu-mono/files/dejavu-mono-latin-400-normal.woff2' },
]
const STYLE = `
  :root { font-family: Look !important; }
  code, pre, kbd { font-family: 'Look Mono' !important; }
  /* Else letters are fitted to whole pixels by the settings of the system. */
  * { text-rendering: geometricPrecision !important; }
  /* The course of figures. */
  svg[role=img] > *, canvas { visibility: hidden; }
`

type Constant = readonly [pattern: RegExp, constant: string]
const ID: Constant = [/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'an-id']
/** What differs from day to day and from run to run, and what the pictures have instead. */
const CONSTANTS: readonly Constant[] = [
  ID,
  [/…[\da-f]{8}\b/g, '…id'],
  [/\bjust now\b/g, '0 days ago'],
  [/\bless than a minute\b/g, '0 days'],
  [/\b\d+ (?:second|minute|hour|day|week|month|year)s?\b/g, '0 days'],
  [/\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:[a-z]*)\b/g, 'Month'],
  [/\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b/g, 'Weekday'],
  // With their signs and separators, so that a number has one width.
  [/[−+±]?\d(?:[\d.,:]*\d)?/g, '0'],
  // A figure that is still read.
  [/^…$/g, '0'],
  // Names in letters that the fonts lack.
  [/[\u2e80-\uffff]/g, 'x'],
]

export interface LookOptions {
  /** A CSS selector for texts that depend on the hour: one muted text takes their place. */
  readonly replaced?: string
  /** A CSS selector for what has its place by the day. */
  readonly hidden?: string
}

/** Replaces the page by a copy that shows no time, number or id, and which no script changes any more. */
async function freeze(page: Page, { replaced, hidden }: LookOptions): Promise<void> {
  await page.mouse.move(0, 0)
  const fonts = await Promise.all(
    FONTS.map(async ({ file, ...font }) => ({
      ...font,
      data: (await readFile(require.resolve(file))).toString('base64'),
    })),
  )
  const plain = ([{ source, flags }, constant]: Constant) => ({ source, flags, constant })
  const [constants, id] = [CONSTANTS.map(plain), plain(ID)]
  const style = hidden === undefined ? STYLE : `${STYLE} ${hidden} { visibility: hidden; }`
  await page.evaluate(
    async ({ fonts, constants, id, replaced, style }) => {
      for (const { family, weight, data } of fonts) {
        const face = new FontFace(
          family,
          Uint8Array.from(atob(data), (one) => one.charCodeAt(0)),
          { weight },
        )
        document.fonts.add(await face.load())
      }
      const sheet = new CSSStyleSheet()
      sheet.replaceSync(style)
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]

      const copy = document.body.cloneNode(true) as HTMLElement
      if (replaced !== undefined)
        for (const one of copy.querySelectorAll(replaced)) {
          one.className = 'muted'
          one.textContent = 'It depends on the hour.'
        }
      for (const one of copy.querySelectorAll('progress')) one.value = one.max / 2
      // A copy has the attributes of fields, and not what was entered or chosen.
      const fields = (of: HTMLElement) => [...of.querySelectorAll<HTMLInputElement>('input, select, textarea')]
      const copies = fields(copy)
      for (const [index, { type, value, checked }] of fields(document.body).entries()) {
        const field = copies[index]
        if (field === undefined || type === 'file') continue
        const isTime = value !== '' && (type === 'datetime-local' || type === 'date')
        field.value = isTime
          ? '2030-01-01T00:00'.slice(0, value.length)
          : value.replaceAll(new RegExp(id.source, id.flags), id.constant)
        field.checked = checked
      }
      copy.normalize()
      const texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT)
      while (texts.nextNode()) {
        const node = texts.currentNode as Text
        for (const { source, flags, constant } of constants)
          node.data = node.data.replaceAll(new RegExp(source, flags), constant)
      }
      document.body.replaceWith(copy)
      scrollTo(0, 0)
      await document.fonts.ready
    },
    { fonts, constants, id, replaced, style },
  )
}

/**
 * Compares the page with its picture in `test/console/looks/`. The page cannot be used afterwards. With `LOOKS=update`
 * the picture becomes that of the page.
 */
export async function expectLook(page: Page, name: string, options: LookOptions = {}): Promise<void> {
  await freeze(page, options)
  const actual = withFewColours(PNG.sync.read(await page.screenshot({ animations: 'disabled', caret: 'hide' })))
  const path = join(BASELINES, `${name}.png`)
  const expected = await readFile(path).then(PNG.sync.read, () => null)
  const fault =
    expected === null ? `${relative(ROOT, path)} does not exist` : await differenceOf(name, actual, expected)
  if (fault === null) return
  if (isUpdate) return write(path, actual)
  const kept = join(ARTIFACTS, `${name}.png`)
  await write(kept, actual)
  throw new Error(
    `${fault}. The new look is ${relative(ROOT, kept)}. To accept it: LOOKS=update npx vitest run test/console/looks`,
  )
}

/** What differs, in words, or null. A picture of the difference is kept. */
async function differenceOf(name: string, actual: PNG, expected: PNG): Promise<string | null> {
  const { width, height } = actual
  if (width !== expected.width || height !== expected.height)
    return `${name} is ${width}×${height} pixels, and was ${expected.width}×${expected.height}`
  const difference = new PNG({ width, height })
  const count = pixelmatch(expected.data, actual.data, difference.data, width, height, { threshold: THRESHOLD })
  if (count <= TOLERANCE * width * height) return null
  const path = join(ARTIFACTS, `${name}-difference.png`)
  await write(path, difference)
  return `${name} looks different in ${count} pixels, which are red in ${relative(ROOT, path)}`
}

/** Rounds the colours, which halves the file. */
function withFewColours(picture: PNG): PNG {
  for (const [index, value] of picture.data.entries())
    picture.data[index] = Math.round((Math.round((value * LEVELS) / 255) * 255) / LEVELS)
  return picture
}

async function write(path: string, picture: PNG): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, PNG.sync.write(picture, SMALL))
}
