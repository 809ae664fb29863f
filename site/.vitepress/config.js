import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const REPOSITORY = 'https://github.com/tierway/tierway'
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const read = (path) => readFileSync(join(ROOT, path), 'utf8')

/** Pages are the files of these two forms. VitePress refuses a link to one that does not exist. */
const isPage = (path) => /^(docs\/.+|[^/]+)\.md$/.test(path)
/** The file that a page is made as: a README is the page of its folder. */
const madeAs = (path) => path.replace(/README\.md$/, 'index.md')

/** The sidebar is the table of the README, in its words. The pages of `docs/` that it does not name follow. */
function sidebar() {
  const named = new Set()
  const entry = (path) => {
    named.add(path)
    return { text: /^# (.+)$/m.exec(read(path))?.[1] ?? path, link: `/${madeAs(path)}` }
  }
  const [, table = ''] = read('README.md').split('## Where to go\n')
  const groups = [...table.matchAll(/^\| ([^|]+) \| (.+) \|$/gm)].map(([, text, cell]) => ({
    text: text[0].toUpperCase() + text.slice(1),
    items: [...cell.matchAll(/\]\(([^)]+)\)/g)].flatMap(([, path]) => (isPage(path) ? [entry(path)] : [])),
  }))
  const rest = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
    // A README names the others of its folder.
    .filter((path) => /^docs\/([^/]+|.+\/README)\.md$/.test(path) && !named.has(path))
    .sort()
  return [...groups.filter(({ items }) => items.length > 0), { text: 'More', items: rest.map(entry) }]
}

/** Links are those of the repository: those to its pages stay here, those to its other files go there. */
function rewriteLinks(md) {
  md.core.ruler.push('repository', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : undefined
      if (!href || /^(#|[a-z]+:)/.test(href)) continue
      const [, target, heading] = /^([^#]*)(.*)$/.exec(href)
      const path = join(dirname(env.relativePath), target)
      if (isPage(path)) token.attrSet('href', `/${madeAs(path)}${heading}`)
      else if (existsSync(join(ROOT, path))) token.attrSet('href', `${REPOSITORY}/blob/main/${path}${heading}`)
      else throw new Error(`${env.relativePath} links to ${path}, which does not exist`)
    }
  })
  // GitHub draws these. VitePress does not.
  const { fence } = md.renderer.rules
  md.renderer.rules.fence = (tokens, index, ...rest) =>
    tokens[index].info === 'mermaid' ? '' : fence(tokens, index, ...rest)
}

/** The pages are above this folder, from where Node would not find the packages. */
const vueOfHere = {
  name: 'vue-of-here',
  enforce: 'pre',
  resolveId: (id, _importer, { ssr }) => (ssr && /^vue(\/|$)/.test(id) ? { id, external: true } : undefined),
}

export default defineConfig({
  title: 'Tierway',
  description: JSON.parse(read('package.json')).description,
  base: '/tierway/',
  srcDir: '..',
  srcExclude: ['!(docs)/**/*', '.*/**'],
  rewrites: madeAs,
  outDir: '../artifacts/site',
  markdown: {
    // The anchors of GitHub, which the links have.
    anchor: {
      slugify: (title) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
    },
    config: rewriteLinks,
  },
  // The index of the search is larger than what Vite warns of.
  vite: { plugins: [vueOfHere], build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    nav: [{ text: 'GitHub', link: REPOSITORY }],
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
  },
})
