// What is wider than the screen scrolls by itself, by keyboard as well (WCAG 2.2, 2.1.1).
for (const table of document.querySelectorAll("[role=main] table")) {
  const frame = document.createElement("div");
  frame.className = "scroll";
  table.replaceWith(frame);
  frame.append(table);
}
const scrolling = document.querySelectorAll("[role=main] pre, [role=main] pre > code, .scroll");
new ResizeObserver(() => {
  for (const each of scrolling) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}).observe(document.body);
