import { MAX_ID } from '../request/limits.ts'
import type { Schema } from '../request/shape.ts'
import { TRACKS } from '../scenario/definition.ts'

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
export const text = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more })
export const int32 = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  format: 'int32',
  description,
  ...more,
})
export const int64 = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  format: 'int64',
  description,
  ...more,
})
export const flag = (description: string): Schema => ({ type: 'boolean', description })
export const list = (items: Schema, description: string): Schema => ({ type: 'array', items, description })
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })

/** An answer: every member is always present, and there are no others. */
export const answer = (properties: Record<string, Schema>, description: string): Schema => ({
  type: 'object',
  description,
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

export const id = (description: string): Schema => text(description, { minLength: 1, maxLength: MAX_ID })
export const track = { type: 'string', enum: TRACKS }
export const anyObject: Schema = { type: 'object', additionalProperties: true }

export const businessError = (errors: readonly string[]): Schema =>
  orNull({ type: 'string', enum: errors, description: 'The reason why the game refused. Null on success.' })
