/**
 * Shows /openapi.json as a page. What it says is put in as text, never as markup.
 */
const REFERENCE = "#/components/schemas/";

/** An element with attributes and children; texts stay texts. */
function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A schema in a few words; what has a name links to it. */
function kind(schema) {
  if (!schema) return "";
  if (schema.$ref) {
    const name = schema.$ref.slice(REFERENCE.length);
    return h("a", { href: `#${name}` }, name);
  }
  if (schema.anyOf) return schema.anyOf.flatMap((one, at) => (at ? [" or ", kind(one)] : [kind(one)]));
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.type === "array") return ["list of ", kind(schema.items) || "anything"];
  const bounds = [
    schema.minimum !== undefined && `from ${schema.minimum}`,
    schema.maximum !== undefined && `to ${schema.maximum}`,
    schema.maxLength !== undefined && `at most ${schema.maxLength} characters`,
    schema.pattern && `like ${schema.pattern}`,
  ].filter(Boolean);
  return [schema.type ?? "anything", bounds.length ? ` (${bounds.join(", ")})` : ""].join("");
}

function row(name, schema, required, description) {
  const standard = schema?.default;
  const told = [description ?? schema?.description, standard !== undefined && standard !== null ? `default: ${JSON.stringify(standard)}` : ""];
  return h("tr", {},
    h("th", { scope: "row" }, h("code", {}, name), required ? h("span", { class: "quiet" }, " required") : null),
    h("td", {}, kind(schema)),
    h("td", { class: "quiet" }, told.filter(Boolean).join("; ")));
}

function table(caption, rows) {
  return rows.length ? [h("h3", {}, caption), h("table", { "aria-label": caption }, h("tbody", {}, rows))] : [];
}

function fields(schema) {
  const needed = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, one]) => row(name, one, needed.has(name)));
}

/** How one would ask by curl. */
function example(method, path, operation) {
  const parts = [`curl -X ${method} "$URL${path}"`];
  if (!operation.security) parts.push(`-H "Authorization: Bearer $TOKEN"`);
  if (operation.requestBody) parts.push(`-H "Content-Type: application/json" -d '{ … }'`);
  return parts.join(" \\\n  ");
}

function operation(method, path, said) {
  const body = said.requestBody && Object.values(said.requestBody.content)[0].schema;
  const answers = Object.entries(said.responses).map(([status, answer]) => {
    const content = answer.content ? Object.entries(answer.content) : [];
    const shown = content.map(([media, { schema }]) => [schema ? kind(schema) : media, " "]).flat();
    return h("tr", {}, h("th", { scope: "row" }, status), h("td", {}, answer.description), h("td", {}, shown));
  });
  return h("details", { id: said.operationId },
    h("summary", {}, h("span", { class: "method" }, method), " ", h("span", { class: "path" }, path), " ", h("span", { class: "what" }, said.summary)),
    h("div", { class: "inside" },
      table("Parameters", said.parameters.map((one) => row(`${one.name} (${one.in})`, one.schema, one.required, one.description))),
      body ? [h("h3", {}, "Body"), h("p", {}, kind(body))] : [],
      table("Answers", answers),
      h("h3", {}, "Example"), h("pre", { tabindex: "0" }, example(method, path, said))));
}

function type(name, schema) {
  return h("details", { id: name },
    h("summary", {}, h("span", { class: "path" }, name), " ", h("span", { class: "what" }, (schema.description ?? "").split("\n")[0])),
    h("div", { class: "inside" }, schema.properties ? table("Fields", fields(schema)) : h("p", {}, kind(schema)),
      schema.description ? h("p", { class: "quiet" }, schema.description) : null));
}

/** Open what the address names. */
function follow() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named?.tagName === "DETAILS") named.open = true;
  named?.scrollIntoView();
}

async function begin() {
  const document_ = await (await fetch("/openapi.json")).json();
  const about = `${document_.info.description} Version ${document_.info.version}. The whole of it as OpenAPI 3.1: `;
  document.getElementById("about").replaceChildren(about, h("a", { href: "/openapi.json" }, "/openapi.json"));
  const main = document.getElementById("operations");
  const groups = document.getElementById("groups");
  const section = (name, inside) => {
    const id = `group-${name.replaceAll(" ", "-")}`;
    groups.append(h("li", {}, h("a", { href: `#${id}` }, name)));
    main.append(h("section", { "aria-labelledby": id }, h("h2", { id }, name), inside));
  };
  const all = Object.entries(document_.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, said]) => [method.toUpperCase(), path, said]));
  for (const { name } of document_.tags) section(name, all.filter(([, , said]) => said.tags[0] === name).map((one) => operation(...one)));
  section("types", Object.entries(document_.components.schemas).map((one) => type(...one)));
  addEventListener("hashchange", follow);
  follow();
}

begin().catch((error) => {
  document.getElementById("about").textContent = `The description cannot be read: ${error.message}`;
});
