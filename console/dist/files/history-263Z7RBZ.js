import{q as a,r as b}from"./chunk-YF6J4LXZ.js";import"./chunk-RLH3V6A7.js";export{b as Entries,a as HistoryPage};
