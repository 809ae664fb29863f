import type { EnumRef, InputFieldRef, InputObjectRef, ObjectRef } from '@pothos/core'
import { requirePlayer } from '../../callers/access.ts'
import type { PlayerCaller } from '../../callers/callers.ts'
import { type Answer, enumName, type Member } from '../answer.ts'
import type { PlayerCall } from '../player-call.ts'
import type { Field, Fields, InputType, RequestOf, Schema, Shape } from '../shape.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { ON_REQUEST } from './field-marks.ts'

const MESSAGE = 'The `error` as a sentence in English for a person. Null when `error` is null.'

type Types = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never

/** The enums of the schema with the sentences that describe their values, by the list of values. */
const enums = new Map<
  readonly string[],
  { readonly type: EnumRef<Types, string, string>; readonly sentences: Readonly<Record<string, string>> }
>()

/**
 * An enum with these values, each with a description. Fields of shapes with the same list have it as their type. Where it
 * is the `error` of an answer, the descriptions are what its `message` says.
 */
export function enumType<T extends string>(
  name: string,
  list: readonly T[],
  { description, values }: { description: string; values: Readonly<Record<T, string>> },
) {
  const described = Object.fromEntries(list.map((value) => [enumName(value), { value, description: values[value] }]))
  const type = builder.enumType(name, {
    description,
    values: described as Record<T, { value: T; description: string }>,
  })
  enums.set(list, { type: type as never, sentences: values })
  return type
}

const RefusedType = builder.interfaceRef<object>('Refused').implement({
  description:
    'What may be refused: has an `error`, and here its sentence for a person. `error` is no field of the interface, since each type has an enum of its own, with the reasons that can occur there.',
  fields: (t) => ({
    message: t.string({
      nullable: true,
      description: MESSAGE,
      extensions: { isDeclared: true },
      resolve: () => {
        throw new Error('a type that is refused has no message')
      },
    }),
  }),
})

type Members = Readonly<Record<string, Member<unknown>>>

/** Why an outcome with these members may be refused: the values of its `error`. Undefined for one without. */
function refusalsOf({ error }: Members): readonly string[] | undefined {
  return error?.isNullable && typeof error.type !== 'string' && isValues(error.type) ? error.type : undefined
}

/** The interfaces of an object type with these members. */
export const interfacesOf = (members: Members) => (refusalsOf(members) ? [RefusedType] : [])

/** The sentence of the `error`, in GraphQL alone. Nothing for members without one, or with a message of their own. */
export function messageOf(t: Pick<FieldMaker, 'field'>, members: Members): { message?: never } {
  const refusals = refusalsOf(members)
  if (!refusals || members.message) return {}
  const { sentences } = enumOf(refusals)
  const options = {
    type: 'String',
    nullable: true,
    description: MESSAGE,
    extensions: { ...ON_REQUEST, isDeclared: true },
    resolve: ({ error }: { readonly error: string | null }) => (error === null ? null : sentences[error]),
  }
  return { message: t.field(options as never) as never }
}

const objects = new Map<Answer<unknown>, ObjectRef<Types, unknown>>()

/** The object type of an answer, with its descriptions. Fields of other answers have it as their type. */
export function answerType<T extends object>(name: string, answer: Answer<T>): ObjectRef<Types, T> {
  const { description, members } = answer
  const type = builder.objectRef<T>(name)
  objects.set(answer as Answer<unknown>, type as never)
  return type.implement({
    description,
    interfaces: interfacesOf(members) as never,
    fields: (t) => fieldsOf(t, members),
  })
}

interface FieldMaker {
  expose(name: never, options: never): unknown
  field(options: never): unknown
}

/** Fields for members of an answer, in a type that has further ones. Each has the value of its name. What some answers leave out is null. */
export function fieldsOf<M extends Members>(t: FieldMaker, members: M): { [Name in keyof M]: never } {
  const fields = Object.entries(members).map(
    ([name, { type, schema, isNullable, isOptional, description, deprecated, size }]) => {
      const nullable = isNullable || isOptional || false
      // A test asks whether somebody declared that a member may be absent.
      const options = {
        type: outputOf(type),
        nullable,
        description,
        deprecationReason: deprecated,
        extensions: { size, isDeclared: true, values: valuesIn(schema) },
      }
      return [name, t.expose(name as never, options as never)]
    },
  )
  return { ...Object.fromEntries(fields), ...messageOf(t, members) }
}

/** The values of a closed set, which may be fewer than those of its enum. */
const valuesIn = ({ enum: values, anyOf: [first] = [] }: { enum?: unknown; anyOf?: readonly Schema[] }): unknown =>
  values ?? first?.enum

/** The type of a member's values. */
export function outputOf(type: Member<unknown>['type']): unknown {
  if (typeof type === 'string') return type
  if (isValues(type)) return enumOf(type).type
  if ('listOf' in type) return [outputOf(type.listOf)]
  if ('kept' in type || 'later' in type) throw new Error('an object that is read afterwards is a member of a payload')
  if ('ofType' in type) return type.ofType
  return answerTypeOf(type)
}

/** The object type that an answer was given. */
export function answerTypeOf(answer: Answer<unknown>): ObjectRef<Types, unknown> {
  const known = objects.get(answer)
  if (!known) throw new Error(`no object type has the members ${Object.keys(answer.members).join(', ')}`)
  return known
}

const isValues = (type: object): type is readonly string[] => Array.isArray(type)

function typeOf(type: InputType) {
  if (type === 'Strings') return ['String' as const]
  if (type === 'IDs') return ['ID' as const]
  if (type === 'REST') throw new Error('an object with fields of its own is for REST alone')
  if (typeof type === 'string') return type
  if ('input' in type) return type.isOne ? inputTypeOf(type.input, type.of) : [inputTypeOf(type.input, type.of)]
  return 'listOf' in type ? [enumOf(type.listOf).type] : enumOf(type).type
}

const inputs = new Map<string, InputObjectRef<Types, object>>()

/** The input type of a shape. Several requests may have it. */
function inputTypeOf(name: string, of: Shape<Fields>): InputObjectRef<Types, object> {
  const known = inputs.get(name) ?? makeInput(name, of)
  inputs.set(name, known)
  return known
}

const makeInput = (name: string, { fields }: Shape<Fields>): InputObjectRef<Types, object> =>
  builder.inputRef<object>(name).implement({
    fields: (t) => mapFields(fields, (field) => t.field(optionsOf(field))),
  })

/** An object type with the fields of a shape, for what was sent and is stored. A field that was not sent is null. */
export const outputOfShape = <F extends Fields>(name: string, { fields }: Shape<F>, description: string) =>
  builder.objectRef<RequestOf<Shape<F>>>(name).implement({
    description,
    fields: (t) =>
      mapFields(fields, ({ type, description, isRequired }, name) =>
        t.expose(name as never, { type: typeOf(type), nullable: !isRequired, description } as never),
      ) as never,
  })

function enumOf(values: readonly string[]) {
  const known = enums.get(values)
  if (!known) throw new Error(`no enum has the values ${values.join(', ')}`)
  return known
}

const optionsOf = ({ type, isRequired, description, byDefault, replacedBy }: Field<unknown>) =>
  ({
    type: typeOf(type) as 'String',
    required: isRequired,
    description,
    defaultValue: byDefault as undefined,
    deprecationReason: replacedBy && `Use ${replacedBy}.`,
  }) as const

/** Values as graphql-js delivers them. Their limits are not checked: a shape does that. */
export type Sent<F> = { readonly [Name in keyof F]: F[Name] extends Field<string> ? string : unknown }

/** The single argument `input` of a mutation, with an input type made from the request. */
export function inputOf<F extends Fields>(name: string, request: Shape<F>): { input: InputFieldRef<Types, Sent<F>> } {
  const type = inputTypeOf(name, request as unknown as Shape<Fields>)
  return builder.args((t) => ({ input: t.field({ type, required: true }) })) as never
}

/** The arguments of a field, for a request without an input type. */
export function argsOf<F extends Fields>({
  fields,
}: Shape<F>): { [Name in keyof F]: InputFieldRef<Types, Sent<F>[Name]> } {
  return builder.args((t) => mapFields(fields, (field) => t.field(optionsOf(field)))) as never
}

const mapFields = <T>(fields: Fields, map: (field: Field<unknown>, name: string) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, map(field, name)]))

export const playerQuery = <F extends Fields, Outcome>(call: PlayerCall<F, Outcome>) => ({
  args: argsOf(call.request),
  resolve: (_root: unknown, args: object, context: Context): Promise<Outcome> => runAs(context, call, args),
})

/** The same for a mutation, with its input type. */
export const playerMutation = <F extends Fields, Outcome>(name: string, call: PlayerCall<F, Outcome>) => ({
  args: inputOf(name, call.request),
  extensions: { formerly: call.formerly },
  resolve: (_root: unknown, { input }: { input: Sent<F> }, context: Context): Promise<Outcome> =>
    runAs(context, call, input),
})

/** Runs a call as its player: synchronously for a known token. */
function runAs<F extends Fields, Outcome>(
  context: Context,
  { request, action, command }: PlayerCall<F, Outcome>,
  sent: object,
): Promise<Outcome> {
  const run = (player: PlayerCaller) => context.service.runAs(player, command(player, request.readInput(sent)))
  const found = requirePlayer(context, action)
  return found instanceof Promise ? found.then(run) : run(found)
}
