import { readFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { changeFiles, KINDS, readChange, sectionOf } from '../changes/release.ts'

describe('the changes since the last release', () => {
  // The folder is empty after a release.
  test('have a kind and a list each', () => {
    for (const name of changeFiles()) {
      const { kind } = readChange(name, readFileSync(new URL(`../changes/${name}`, import.meta.url), 'utf8'))
      expect(KINDS).toContain(kind)
    }
  })

  it.each(['', 'Fixed\n', 'Fixed\n- a', 'Mended\n\n- a', 'Fixed\n\na', '- a'])('are refused as %j', (text) => {
    expect(() => readChange('one.md', text)).toThrow('changes/one.md must be one of Upgrade, Added')
  })

  it('become a section by kind, with what an operator must know first', () => {
    const texts = ['Fixed\n\n- One.\n- Two\n  lines.\n', 'Upgrade\n\n- Three.\n', 'Fixed\n\n- Four.\n']
    expect(
      sectionOf(
        '0.2.0',
        '2026-12-01',
        texts.map((text) => readChange('one.md', text)),
      ),
    ).toBe(`## [0.2.0] - 2026-12-01

### Upgrade

- Three.

### Fixed

- One.
- Two
  lines.
- Four.

`)
  })
})
