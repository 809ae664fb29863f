import { fileURLToPath } from 'node:url'
import { describe, expect, it, test } from 'vitest'
import {
  changeFiles,
  KINDS,
  readChange,
  readChangeFile,
  sectionOf,
  unreleasedIn,
} from '../changes/release/changelog.ts'

describe('the changes since the last release', () => {
  // The folder is empty after a release.
  test('have a kind and a list each', () => {
    const root = fileURLToPath(new URL('..', import.meta.url))
    for (const name of changeFiles(root)) expect(KINDS).toContain(readChangeFile(root, name).kind)
  })

  it.each(['', 'Fixed\n', 'Fixed\n- a', 'Mended\n\n- a', 'Fixed\n\na', '- a'])('are refused as %j', (text) => {
    expect(() => readChange('one.md', text)).toThrow('changes/one.md must be one of Upgrade, Added')
  })

  it('become a section by kind, after its introduction, with what an operator must know first', () => {
    const texts = ['Fixed\n\n- One.\n- Two\n  lines.\n', 'Upgrade\n\n- Three.\n', 'Fixed\n\n- Four.\n']
    const changes = texts.map((text) => readChange('one.md', text))
    const section = `### Upgrade

- Three.

### Fixed

- One.
- Two
  lines.
- Four.

`
    expect(sectionOf('0.2.0', '2026-12-01', changes)).toBe(`## [0.2.0] - 2026-12-01\n\n${section}`)
    const begun = unreleasedIn('# Changelog\n\n## [Unreleased]\n\nThe second\nrelease.\n\n## [0.1.0] - 2026-11-25\n')
    expect(sectionOf('0.2.0', '2026-12-01', changes, begun)).toBe(
      `## [0.2.0] - 2026-12-01\n\nThe second\nrelease.\n\n${section}`,
    )
  })

  it.each(['# Changelog\n\n## [Unreleased]\n\nAlone.\n', '## [Unreleased]\n\nAlone.\n\n## [0.1.0] - 2026-11-25\n'])(
    'have an introduction in %j',
    (text) => expect(unreleasedIn(text)).toBe('Alone.'),
  )

  it('have no introduction in a changelog without one', () => {
    expect(unreleasedIn('# Changelog\n\n## [0.1.0] - 2026-11-25\n\n- One.\n')).toBeUndefined()
  })
})
