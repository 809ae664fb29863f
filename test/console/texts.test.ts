import { describe, expect, it } from 'vitest'
import { toCsv } from '../../console/src/ui/csv.ts'
import { figure, plainName } from '../../console/src/ui/words.ts'

describe('a saved table', () => {
  it.each([
    ['quotation marks and commas', 'x,"y"', '"x,""y"""'],
    ['a number', -1, '-1'],
    ['a formula with a plus', '+1 hour', `'+1 hour`],
    ['a formula', '=1+1', `'=1+1`],
    ['a formula behind a semicolon, which separates cells in some languages', 'a;=1+1', `"a;'=1+1"`],
    ['a formula behind a tab', 'a\t@b', `"a\t'@b"`],
    ['a formula in a line of its own', 'a\n-b', `"a\n'-b"`],
    ['a negative number', '-12.5', '-12.5'],
    ['a sign that begins no cell', 'a=1;b', '"a=1;b"'],
  ])('has %s as text', (_what, cell, text) => {
    expect(toCsv(['title'], [[cell]])).toBe(`title\r\n${text}\r\n`)
  })
})

it('a sum that no card has room for is in powers of ten', () => {
  expect([12_345, 999_999_999_999_999, 9.223e18, -9.223e18].map(figure)).toEqual([
    ...['12,345', '999,999,999,999,999', '9.22E18', '-9.22E18'],
  ])
})

it('a name with signs that turn the direction of text reads as it is written', () => {
  expect(plainName('Ada\u202edab')).toBe('Ada⟨U+202E⟩dab')
  expect(plainName('عادة \u2067x\u2069')).toBe('عادة ⟨U+2067⟩x⟨U+2069⟩')
  expect(plainName('👩‍👩‍👧')).toBe('👩‍👩‍👧')
})
