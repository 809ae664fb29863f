import { expect, it } from 'vitest'
import { headOf } from '../../src/declare/respond.ts'

it.each(['a\r\nset-cookie: b=c', 'a\nb', 'a\rb', 'a\0b', 'a\u{1f600}'])(
  'a head with the header value %j is not made, as Node refuses it',
  (value) => {
    expect(() => headOf(200, ['x-name', value])).toThrow(/Invalid character in header content/)
  },
)
