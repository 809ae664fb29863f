import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'

/**
 * The deprecated fields of each operation that selects some, such as `Mutation.grantBoost`, and the deprecated arguments
 * that it gives, such as `Query.players(region)`.
 */
export type DeprecatedFields = ReadonlyMap<OperationDefinitionNode, ReadonlySet<string>>

interface Part {
  readonly fields: Set<string>
  readonly fragments: Set<string>
}

/** Finds the deprecated fields and arguments in the operations of a valid document, by themselves or by fragments. */
export function deprecatedFieldsOf(schema: GraphQLSchema, document: DocumentNode): DeprecatedFields {
  const { operations, fragments } = partsOf(schema, document)
  const found = new Map<OperationDefinitionNode, Set<string>>()
  for (const [operation, part] of operations) {
    const parts = new Set([part])
    // A set that grows is walked to its new end.
    for (const { fragments: names } of parts) for (const name of names) parts.add(fragments.get(name) ?? part)
    const fields = new Set([...parts].flatMap((one) => [...one.fields]))
    if (fields.size > 0) found.set(operation, fields)
  }
  return found
}

/** What each operation and each fragment selects by itself. */
function partsOf(schema: GraphQLSchema, document: DocumentNode) {
  const operations = new Map<OperationDefinitionNode, Part>()
  const fragments = new Map<string, Part>()
  const types = new TypeInfo(schema)
  let part: Part
  const begin = (definition: OperationDefinitionNode | FragmentDefinitionNode): void => {
    part = { fields: new Set(), fragments: new Set() }
    if (definition.kind === Kind.OPERATION_DEFINITION) operations.set(definition, part)
    else fragments.set(definition.name.value, part)
  }
  visit(
    document,
    visitWithTypeInfo(types, {
      OperationDefinition: { enter: begin },
      FragmentDefinition: { enter: begin },
      Field() {
        if (types.getFieldDef()?.deprecationReason != null) part.fields.add(fieldOf(types))
      },
      Argument({ name }) {
        if (types.getArgument()?.deprecationReason != null) part.fields.add(`${fieldOf(types)}(${name.value})`)
      },
      FragmentSpread({ name }) {
        part.fragments.add(name.value)
      },
    }),
  )
  return { operations, fragments }
}

const fieldOf = (types: TypeInfo): string => `${types.getParentType()?.name}.${types.getFieldDef()?.name}`
